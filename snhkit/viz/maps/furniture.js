// Functions for every map of snhkit: the first view, a graticule that follows the zoom, a legend.
// biome-ignore lint/correctness/noUnusedVariables: the scripts of maps and panes.js call its functions.
const snhkit = {
  // Fits a box into the map, again whenever the map's size changes, until a person moves the map.
  // A page in a hidden tab has no size at first, so that fitting once would not be enough.
  fit(map, box) {
    let fitting = false;
    map.snhkitMoved = false;
    map.snhkitBox = box;
    const fit = () => {
      fitting = true;
      map.invalidateSize({ animate: false });
      const size = map.getSize();
      if (!map.snhkitMoved && Math.min(size.x, size.y) > 32) {
        map.fitBounds(map.snhkitBox, { animate: false, padding: [8, 8] });
      }
      fitting = false;
    };
    map.on("movestart zoomstart", () => { if (!fitting) map.snhkitMoved = true; });
    map.snhkitFit = (part) => {
      Object.assign(map, { snhkitBox: part, snhkitMoved: false });
      fit();
    };
    new ResizeObserver(fit).observe(map.getContainer());
    fit();
  },

  // The wheel scrolls the page; with Ctrl it zooms the map.
  wheel(map) {
    map.scrollWheelZoom.disable();
    map.getContainer().addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      const zoom = map.getZoom() - Math.sign(e.deltaY) * Math.max(map.options.zoomSnap, 0.5);
      map.setZoomAround(map.mouseEventToContainerPoint(e), zoom, { animate: false });
    }, { passive: false });
  },

  // Draws land and names under everything, and their lines once more above the pictures.
  land(map, { shapes, names, source }) {
    map.snhkitLand = { shapes, names, source };
    for (const [name, z] of [["snhkit-land", 250], ["snhkit-coast", 335]]) {
      map.createPane(name).style.zIndex = z;
      map.getPane(name).style.pointerEvents = "none";
    }
    const geometries = shapes.geometries;
    for (const [pane, fill] of [["snhkit-land", true], ["snhkit-coast", false]]) {
      const style = { pane, className: pane, weight: 1, fill, interactive: false };
      L.geoJSON(geometries.map((geometry) => ({ type: "Feature", properties: {}, geometry })), { style })
        .addTo(map);
    }
    const marks = L.layerGroup().addTo(map);
    const write = () => {  // the first names, and so the largest places, that do not cover each other
      const view = map.getBounds(), size = map.getSize(), taken = [];
      marks.clearLayers();
      for (const [lat, lon, text, kind] of names) {
        if (taken.length >= Math.min(30, (size.x * size.y) / 6_000)) break;
        if (!view.contains([lat, lon])) continue;
        const { x, y } = map.latLngToLayerPoint([lat, lon]), wide = 3.5 * text.length;  // half of it
        if (taken.some(([a, b, half]) => Math.abs(a - x) < half + wide && Math.abs(b - y) < 15)) continue;
        taken.push([x, y, wide]);
        const name = document.createElement("span");
        name.textContent = text;  // never as HTML
        const html = `<div class="snhkit-name snhkit-name-${kind === "place" ? "place" : "area"}"></div>`;
        const icon = L.divIcon({ className: "", html, iconSize: [0, 0] });
        const mark = L.marker([lat, lon], { pane: "snhkit-coast", icon, interactive: false, keyboard: false });
        mark.addTo(marks).getElement().firstChild.append(name);
      }
    };
    map.on("moveend resize", write);
    map.whenReady(write);
    map.attributionControl?.addAttribution(source);
  },

  // A background from tiles that the page holds, as data URLs by "zoom/x/y".
  localTiles(map, tiles, options) {
    const blank = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==";
    const Local = L.TileLayer.extend({
      getTileUrl({ z, x, y }) { return this.options.tiles[`${z}/${x}/${y}`] ?? blank; },
    });
    const said = document.createElement("span");
    said.textContent = options.attribution;  // never as HTML
    new Local("", { ...options, attribution: said.innerHTML, maxZoom: 20, tiles }).addTo(map);
  },

  // A button below the zoom buttons that shows the whole region again.
  home(map, box) {
    map.snhkitRegion = box;
    const control = L.control({ position: "topleft" });
    control.onAdd = () => {
      const bar = L.DomUtil.create("div", "leaflet-bar");
      const link = L.DomUtil.create("a", "snhkit-home", bar);
      Object.assign(link, { href: "#", title: "Show the whole region", textContent: "\u2922" });
      link.setAttribute("role", "button");
      L.DomEvent.on(link, "click", (e) => {
        L.DomEvent.stop(e);
        map.snhkitFit(box);
      });
      return bar;
    };
    control.addTo(map);
  },

  graticule(map) {
    const pane = "snhkit-graticule";
    map.createPane(pane).style.zIndex = 410;
    map.getPane(pane).style.pointerEvents = "none";
    const lines = L.layerGroup([], { pane }).addTo(map);
    const niceStep = (span) => {
      const power = 10 ** Math.floor(Math.log10(span));
      return power * [1, 2, 5, 10].find((s) => s * power >= span);
    };
    const name = (value, step, halves) => {
      const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
      return `${Math.abs(value).toFixed(digits)}°${value < 0 ? halves[1] : halves[0]}`;
    };
    const wrap = (lon) => ((((lon + 180) % 360) + 360) % 360) - 180;
    const write = (at, text, side) =>
      L.tooltip({ pane, permanent: true, direction: side, className: "snhkit-degrees", offset: [0, 0] })
        .setLatLng(at).setContent(text).addTo(lines);
    const draw = () => {
      lines.clearLayers();
      const size = map.getSize();
      if (!size.x || !size.y) return;
      const b = map.getBounds();
      const perPixel = (b.getEast() - b.getWest()) / size.x;
      const step = niceStep(perPixel * 130);
      const style = { pane, className: "snhkit-line", weight: 1, interactive: false };
      const inset = (px, py) => map.containerPointToLatLng([px, py]);
      for (let i = Math.ceil(b.getWest() / step); i * step <= b.getEast(); i++) {
        const lon = i * step;
        L.polyline([[b.getSouth(), lon], [b.getNorth(), lon]], style).addTo(lines);
        write([inset(0, size.y).lat, lon], name(wrap(lon), step, "EW"), "top");
      }
      for (let i = Math.ceil(b.getSouth() / step); i * step <= b.getNorth(); i++) {
        const lat = i * step;
        L.polyline([[lat, b.getWest()], [lat, b.getEast()]], style).addTo(lines);
        write([lat, inset(size.x, 0).lng], name(lat, step, "NS"), "left");
      }
    };
    map.on("moveend resize", draw);
    if (map.attributionControl) map.attributionControl.setPrefix("Leaflet");
    map.whenReady(draw);
  },

  // Returns a layer of polygons; each has its colour and the lines of its tooltip as properties.
  // With a legend, both are shown.
  districts(map, features, legend) {
    const pane = "snhkit-overlay";  // below drawn boxes
    if (!map.getPane(pane)) map.createPane(pane).style.zIndex = 330;
    const style = ({ properties: { colour, inside } }) => ({
      className: "snhkit-district", weight: 1, dashArray: inside ? null : "3 4",
      fill: true, fillColor: colour ?? "#000", fillOpacity: colour ? 1 : 0,
    });
    const words = ({ feature: { properties } }) => {
      const box = document.createElement("div");
      properties.lines.forEach((line, i) => {
        L.DomUtil.create(i ? "div" : "b", "", box).textContent = line;  // never as HTML
      });
      return box;
    };
    const layer = L.geoJSON(features, { pane, style }).bindTooltip(words, { sticky: true });
    if (!legend) return layer;
    map.snhkitLegend(legend);
    return layer.addTo(map);
  },

  // Shows the legend of the base layer that is chosen; none for a layer without one.
  legendOfLayer(map, legends) {
    if (!map.snhkitLegends) {
      map.snhkitLegends = new Map();
      map.on("baselayerchange", (e) => map.snhkitLegend(map.snhkitLegends.get(e.name)));
    }
    for (const { name, legend } of legends) map.snhkitLegends.set(name, legend);
    map.snhkitLegend(legends[0].legend);
  },

  // Returns a function that shows the legend {title, unit, ticks, colours, note}. Without colours, only
  // the title and the note are shown; without an argument, the legend is removed.
  legend(map) {
    const control = L.control({ position: "bottomright" });
    const box = L.DomUtil.create("div", "snhkit-legend");
    const line = (className, text) => {
      const div = L.DomUtil.create("div", className, box);
      div.textContent = text;  // never as HTML
      return div;
    };
    control.onAdd = () => box;
    return (value) => {
      control.remove();
      box.replaceChildren();
      if (!value) return;
      line("snhkit-legend-title", value.title);
      if (value.colours) {
        line("snhkit-ramp", "").style.background = `linear-gradient(to right, ${value.colours.join()})`;
        const ticks = line("snhkit-ticks", "");
        for (const tick of value.ticks) L.DomUtil.create("span", "", ticks).textContent = tick;
        line("snhkit-unit", value.unit);
      }
      if (value.note) line("snhkit-unit", value.note);
      control.addTo(map);
    };
  },
};
