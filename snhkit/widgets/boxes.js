// Boxes that a person picks, drags, resizes at their corners, nudges by keys and removes.
// Keys, while the map has the focus: Enter makes a box, E picks the next one, arrows move it, Shift and
// arrows resize it, Control makes steps of a pixel, Delete removes it, Escape lets it go.
// With ``square`` there is one box, a square, and a click puts it there, or comes closer to a place.
// biome-ignore lint/correctness/noUnusedVariables: draw_bridge.js calls it.
function snhkitBoxes(map, drawn, style, { changed, picked, hovered, square }) {
  const WHOLE = [1, 1, 1, 1], CORNERS = [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]];
  const container = map.getContainer();
  const words = L.DomUtil.create("div", "snhkit-keys", container);
  words.setAttribute("role", "status");
  const HELP = "Arrows move, Shift + arrows resize, Delete removes, Escape lets go";
  let box = null, drawing = false, keys = false;  // keys: whether a person uses them, and wants help
  const say = (text) => { words.textContent = text; };
  const all = () => drawn.getLayers().filter((layer) => layer.getBounds);
  // Pixels of the whole world and not of the screen, which Leaflet would round.
  const pixels = (bounds) => L.bounds([bounds.getNorthWest(), bounds.getSouthEast()].map((at) => map.project(at)));
  const degrees = ({ min, max }) => L.latLngBounds(map.unproject(min), map.unproject(max));
  // Metres on WGS 84, as Python counts them, and not on Leaflet's sphere.
  const metres = (b) => {
    const at = (b.getCenter().lat * Math.PI) / 180, w = 1 - 0.00669438 * Math.sin(at) ** 2;
    const degree = (6378137 * Math.PI) / 180 / Math.sqrt(w);
    return [degree * Math.cos(at) * (b.getEast() - b.getWest()), (degree * 0.99330562 * (b.getNorth() - b.getSouth())) / w];
  };
  const describe = () => {
    const [across, up] = metres(box.getBounds()).map((side) => Math.round(side).toLocaleString("en"));
    say(`${across} × ${up} m${keys ? `. ${HELP}.` : ""}`);
  };

  const grips = CORNERS.map((sides) =>
    hold(L.circleMarker([0, 0], { radius: 6, className: "snhkit-grip", bubblingMouseEvents: false }), sides));
  function frame() {
    for (const [k, grip] of grips.entries()) {
      if (!box) grip.remove();
      else {
        const b = box.getBounds();
        grip.setLatLng([b.getNorthWest(), b.getNorthEast(), b.getSouthEast(), b.getSouthWest()][k]);
        grip.addTo(map);
      }
    }
  }
  function pick(layer) {
    if (layer === box) return;
    box = layer;
    map.keyboard[box ? "disable" : "enable"]();
    if (box) describe();
    else say("");
    frame();
    if (box) for (const grip of grips) grip.bringToFront();  // not while it is dragged: it would lose the pointer
    picked(all().indexOf(box));
  }
  // Moves sides of the picked box (left, top, right, bottom) by so many pixels.
  function move(start, [left, top, right, bottom], by) {
    if (square && left !== right) {  // a corner: both sides grow alike
      const out = [right - left, bottom - top], grow = (by.x * out[0] + by.y * out[1]) / 2;
      by = L.point(out).multiplyBy(grow);
    }
    const next = L.bounds(start.min.add([left * by.x, top * by.y]), start.max.add([right * by.x, bottom * by.y]));
    const region = pixels(L.latLngBounds(map.snhkitRegion ?? map.getBounds()));
    if (!region.contains(next.getCenter())) return;  // nothing is counted out there
    box.setBounds(degrees(next));
    changed();
    box.getTooltip()?.setLatLng(box.getCenter());
    frame();
    describe();
  }
  function hold(layer, sides) {
    layer.on("add", () => {
      const path = layer.getElement(), at = (e) => map.project(map.mouseEventToLatLng(e));
      path.addEventListener("pointerdown", (e) => {
        if (drawing || e.button) return;
        e.stopPropagation();
        keys = false;
        if (sides === WHOLE) pick(layer);
        const from = at(e), start = pixels(box.getBounds());
        const follow = (e) => move(start, sides, at(e).subtract(from));
        path.setPointerCapture(e.pointerId);
        path.addEventListener("pointermove", follow);
        for (const end of ["pointerup", "pointercancel"]) {
          path.addEventListener(end, () => path.removeEventListener("pointermove", follow), { once: true });
        }
        container.focus({ preventScroll: true });
      });
      for (const kind of ["mousedown", "touchstart"]) {  // else the map would move along
        path.addEventListener(kind, (e) => { if (!drawing) e.stopPropagation(); });
      }
    });
    return layer;
  }
  const add = (bounds, given) => {
    const layer = hold(L.rectangle(bounds, style), WHOLE);
    layer.on("mouseover", () => hovered(all().indexOf(layer))).on("mouseout", () => hovered(-1));
    drawn.addLayer(Object.assign(layer, { snhkitBox: given }));
    return layer;
  };
  const around = (centre, half) => degrees(L.bounds(centre.subtract(half), centre.add(half)));
  const made = (drawing) => {
    let bounds = drawing;
    if (square) {
      const { x, y } = pixels(bounds).getSize(), half = (x + y) / 4;
      bounds = around(pixels(bounds).getCenter(), [half, half]);
      drawn.clearLayers();
    }
    const layer = add(bounds);
    changed();  // first, since its answers take longer than the pick
    pick(layer);
  };
  const create = (at) => {
    const before = square && all()[0] && pixels(all()[0].getBounds()).getSize().divideBy(2);
    const bounds = around(map.project(at), before || [24, 24]);
    if (square && metres(bounds)[0] > 50_000) map.setZoomAround(at, map.getZoom() + 3, { animate: false });
    else made(bounds);
  };
  const remove = () => {
    drawn.removeLayer(box);
    pick(null);
    changed();
  };
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  container.addEventListener("keydown", (e) => {
    if (e.target !== container) return;  // a button of the map has the focus
    const boxes = all(), step = e.ctrlKey ? 1 : 8;
    keys = true;
    if (e.key === "e" || e.key === "E") pick(boxes[(boxes.indexOf(box) + 1) % boxes.length] ?? null);
    else if (e.key === "Enter") create(map.getCenter());
    else if (!box) return;
    else if (Object.hasOwn(STEPS, e.key)) {
      move(pixels(box.getBounds()), e.shiftKey ? CORNERS[1] : WHOLE, L.point(STEPS[e.key]).multiplyBy(step));
    } else if (e.key === "Escape") pick(null);
    else if (e.key === "Delete" || e.key === "Backspace") remove();
    else return;
    e.preventDefault();
    e.stopPropagation();
  }, true);
  container.addEventListener("focus", () => { if (!box) say("Enter makes a box, E picks one."); });
  container.addEventListener("blur", () => { if (!box) say(""); });
  map.on("draw:drawstart", () => { drawing = true; });
  // The timeouts let the click that ends the drawing pass first.
  map.on("draw:drawstop", () => setTimeout(() => { drawing = false; }));
  map.on("click", (e) => {
    if (drawing || e.originalEvent.target.closest(".snhkit-box, .snhkit-grip")) return;
    if (square) create(e.latlng);
    else pick(null);
  });
  map.on("draw:created", ({ layer }) => setTimeout(() => {
    drawn.removeLayer(layer);
    made(layer.getBounds());
  }));
  map.on("zoomend", frame);
  return {
    all, pick,
    get picked() { return all().indexOf(box); },
    set(boxes) {
      const before = all().indexOf(box);
      pick(null);
      drawn.clearLayers();
      for (const [south, west, north, east] of boxes) add([[south, west], [north, east]], [south, west, north, east]);
      if (boxes[before]) pick(all()[before]);
    },
  };
}
