// One to three maps side by side on one page: each shows a layer, and they move together.
// Needs Leaflet and furniture.js.  A layer is {image, bounds, alt, legend, cells, districts}.
// biome-ignore lint/correctness/noUnusedVariables: draw_bridge.js calls it.
function snhkitPanes(first, legend) {
  const corners = (b) => [[b[0], b[1]], [b[2], b[3]]];
  const panes = [];
  let leading = null;  // the map that a person is moving; the others follow

  function add(map, legend) {
    if (!map.getPane("snhkit-overlay")) {
      map.createPane("snhkit-overlay").style.zIndex = 330;  // below the boxes, which stay clickable
    }
    map.createPane("snhkit-cells").style.zIndex = 340;
    map.getPane("snhkit-cells").style.pointerEvents = "none";
    const numbers = L.layerGroup().addTo(map);
    const pane = { map, legend, numbers, picture: null, bounds: "", cells: null };
    map.on("move zoomend", () => {
      if (leading && leading !== map) return;
      leading = map;
      const at = map.getCenter(), zoom = map.getZoom();
      for (const { map: other } of panes) {
        if (other !== map) other.setView(at, zoom, { animate: false });
      }
      leading = null;
    });
    panes.push(pane);
    return pane;
  }

  function grow() {
    const div = document.createElement("div");
    document.body.append(div);
    const { zoomSnap, maxZoom } = first.options;
    const map = L.map(div, {
      zoomSnap, maxZoom, zoomControl: false, attributionControl: false, zoomAnimation: false,
      center: first.getCenter(), zoom: first.getZoom(),
    });
    first.eachLayer((layer) => {
      if (layer instanceof L.TileLayer) new layer.constructor(layer._url, layer.options).addTo(map);
      if (layer.options.className === "snhkit-outline") {
        L.polyline(layer.getLatLngs(), layer.options).addTo(map);
      }
    });
    if (first.snhkitLand) snhkit.land(map, first.snhkitLand);
    snhkit.graticule(map);
    snhkit.wheel(map);
    const sizes = new ResizeObserver(() => map.invalidateSize({ animate: false }));
    sizes.observe(div);
    const boxes = L.layerGroup().addTo(map);
    Object.assign(add(map, snhkit.legend(map)), { sizes, boxes });
  }

  function shrink() {
    const { map, sizes } = panes.pop();
    const div = map.getContainer();
    sizes.disconnect();
    map.remove();
    div.remove();
  }

  function show(pane, layer) {
    pane.legend(layer.legend);
    const bounds = JSON.stringify(layer.bounds);
    if (pane.picture && (bounds !== pane.bounds || !layer.image)) {
      pane.picture.remove();
      pane.picture = null;
    }
    if (layer.image && !pane.picture) {
      const options = { pane: "snhkit-overlay", alt: layer.alt };
      pane.picture = L.imageOverlay(layer.image, corners(layer.bounds), options).addTo(pane.map);
    } else if (layer.image) {
      pane.picture.setUrl(layer.image);
      pane.picture.getElement().alt = layer.alt;
    }
    pane.bounds = bounds;
    if (pane.districts) pane.districts.remove();
    pane.districts = layer.districts && snhkit.districts(pane.map, layer.districts).addTo(pane.map);
    if (pane.cells) pane.cells.remove();
    pane.cells = layer.cells ? new SnhkitCells(layer.cells).addTo(pane.map) : null;
  }

  // Side by side, or on a telephone one below the other.
  function arrange() {
    const count = panes.length, stacked = window.innerWidth < 480;
    const row = `repeat(${count}, minmax(0, 1fr))`;
    Object.assign(document.body.style, {
      gridTemplateColumns: stacked ? "100%" : row, gridTemplateRows: stacked ? row : "100%",
    });
  }
  Object.assign(document.body.style, { display: "grid", gap: "2px", background: "#808080" });
  window.addEventListener("resize", arrange);
  add(first, legend);
  return {
    layers(value) {
      const wanted = value.length ? value : [{}];
      const before = panes.length;
      while (panes.length > wanted.length) shrink();
      while (panes.length < wanted.length) grow();
      arrange();
      if (panes.length !== before) {
        for (const { map } of panes) map.invalidateSize({ animate: false });
      }
      for (const [i, layer] of wanted.entries()) show(panes[i], layer);
    },
    // Numbers the boxes on all maps, and draws those of the first map on the others.
    mirror(bounds, style) {
      const few = bounds.length <= 40;  // more numbers would hide the map
      for (const [k, { boxes, numbers }] of panes.entries()) {
        numbers.clearLayers();
        boxes?.clearLayers();
        bounds.forEach((box, i) => {
          if (k) L.rectangle(box, { ...style, interactive: false }).addTo(boxes);
          if (!few) return;
          // Outside the box, at its corner: a box can be smaller than its number.
          L.tooltip({ permanent: true, direction: "right", offset: [2, -8], className: "snhkit-number" })
            .setLatLng(box.getNorthEast()).setContent(String(i + 1)).addTo(numbers);
        });
      }
    },
  };
}

// Outlines of many rectangles on one canvas, without those that are too small to see.
// corners: south, west, north, east of each, in multiples of unit degrees from the origin.
const SnhkitCells = L.Layer.extend({
  initialize({ origin, unit, corners }) { Object.assign(this, { origin, unit, corners }); },
  onAdd(map) {
    this.canvas = L.DomUtil.create("canvas", "snhkit-cells", map.getPane("snhkit-cells"));
    this.words = L.DomUtil.create("div", "snhkit-narrow", map.getContainer());
    map.on("moveend resize", this.draw, this);
    map.on("zoomstart", this.hide, this);
    this.draw();
  },
  onRemove(map) {
    map.off("moveend resize", this.draw, this);
    map.off("zoomstart", this.hide, this);
    this.canvas.remove();
    this.words.remove();
  },
  hide() { this.canvas.style.visibility = "hidden"; },
  draw() {
    const map = this._map, size = map.getSize(), sharp = window.devicePixelRatio || 1;
    let drawn = 0, small = 0;
    L.DomUtil.setPosition(this.canvas, map.containerPointToLayerPoint([0, 0]));
    Object.assign(this.canvas, { width: size.x * sharp, height: size.y * sharp });
    Object.assign(this.canvas.style, { width: `${size.x}px`, height: `${size.y}px`, visibility: "" });
    const pen = this.canvas.getContext("2d"), path = new Path2D(), leastPixels = 5;
    pen.scale(sharp, sharp);
    const at = (k) => map.latLngToContainerPoint([
      this.origin[0] + this.unit * this.corners[k], this.origin[1] + this.unit * this.corners[k + 1],
    ]);
    for (let k = 0; k < this.corners.length; k += 4) {
      const low = at(k), high = at(k + 2), width = high.x - low.x, height = low.y - high.y;
      if (high.x < 0 || low.x > size.x || high.y > size.y || low.y < 0) continue;
      if (Math.min(width, height) < leastPixels) {
        small++;
        continue;
      }
      drawn++;
      path.rect(low.x, high.y, width, height);
    }
    const which = drawn ? "The narrowest cells" : "Cells";
    this.words.textContent = small ? `${which} are too narrow to outline here: zoom in` : "";
    for (const [width, colour] of [[2, "rgb(0 0 0 / 40%)"], [0.8, "rgb(255 255 255 / 75%)"]]) {
      Object.assign(pen, { lineWidth: width, strokeStyle: colour });
      pen.stroke(path);
    }
  },
});
