// Boxes from the keyboard, while the map has the focus:
// Enter begins a box and adds it, arrows move it, Shift and arrows change its size, Escape gives up;
// E edits the next box, Delete removes the box that is being edited.
// biome-ignore lint/correctness/noUnusedVariables: draw_bridge.js calls it.
function snhkitKeyboard(map, drawn, style, tell) {
  const container = map.getContainer();
  const words = L.DomUtil.create("div", "snhkit-keys", container);
  words.setAttribute("role", "status");
  const HELP = "Arrows move, Shift + arrows resize, Enter adds, Escape cancels";
  let box = null, edited = null, next = 0;
  const say = (text) => { words.textContent = text; };
  const metres = (b) => {
    const across = map.distance(b.getSouthWest(), b.getSouthEast());
    const up = map.distance(b.getSouthWest(), b.getNorthWest());
    return `${Math.round(across)} by ${Math.round(up)} m`;
  };
  const pixels = () => {
    const b = box.getBounds();
    return [map.latLngToContainerPoint(b.getSouthWest()), map.latLngToContainerPoint(b.getNorthEast())];
  };
  const place = ([low, high]) => box.setBounds(
    L.latLngBounds(map.containerPointToLatLng(low), map.containerPointToLatLng(high)));
  const begin = (layer) => {
    edited = layer;
    const centre = map.getSize().divideBy(2), half = L.point(24, -24);
    const bounds = layer ? layer.getBounds() : L.latLngBounds(
      map.containerPointToLatLng(centre.subtract(half)), map.containerPointToLatLng(centre.add(half)));
    box = L.rectangle(bounds, { ...style, dashArray: "5 4", interactive: false }).addTo(map);
    map.keyboard.disable();
    say(`${layer ? "Box" : "New box"} of ${metres(bounds)}. ${HELP}${layer ? ", Delete removes" : ""}.`);
  };
  const end = () => {
    box.remove();
    box = edited = null;
    map.keyboard.enable();
    say("");
  };
  const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const move = (e) => {
    const [dx, dy] = STEPS[e.key], step = e.ctrlKey ? 1 : 8;
    const [low, high] = pixels(), by = L.point(dx * step, dy * step);
    const corner = high.add(by);
    if (!e.shiftKey) place([low.add(by), corner]);
    else if (corner.x > low.x + 1 && corner.y < low.y - 1) place([low, corner]);
    say(`${metres(box.getBounds())}. ${HELP}.`);
  };
  const add = () => {
    if (edited) edited.setBounds(box.getBounds());
    else drawn.addLayer(L.rectangle(box.getBounds(), style));
    end();
    tell();
  };
  const remove = () => {
    drawn.removeLayer(edited);
    end();
    tell();
  };
  const edit = () => {
    const boxes = drawn.getLayers().filter((layer) => layer.getBounds);
    if (!boxes.length) return;
    if (box) end();
    begin(boxes[next++ % boxes.length]);
  };
  container.addEventListener("keydown", (e) => {
    if (e.target !== container) return;  // a button of the map has the focus
    if (e.key === "e" || e.key === "E") edit();
    else if (e.key === "Enter") box ? add() : begin(null);
    else if (!box) return;
    else if (Object.hasOwn(STEPS, e.key)) move(e);
    else if (e.key === "Escape") end();
    else if (edited && (e.key === "Delete" || e.key === "Backspace")) remove();
    else return;
    e.preventDefault();
    e.stopPropagation();
  }, true);
  container.addEventListener("focus", () => { if (!box) say("Enter draws a box, E edits one."); });
  container.addEventListener("blur", () => { if (!box) say(""); });
}
