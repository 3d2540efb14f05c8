// The part of DrawMap inside the map's page; needs Leaflet, Leaflet.draw, furniture.js and panes.js.
// biome-ignore lint/correctness/noUnusedVariables: the script that draw_map.py writes calls it.
function drawBridge(map, drawn, token, boxStyle, legend) {
  const say = (kind, value) => window.parent.postMessage({ token, kind, value }, "*");
  const round = (x) => Math.round(x * 1e6) / 1e6;
  const boxOf = (b) => [b.getSouth(), b.getWest(), b.getNorth(), b.getEast()].map(round);
  const corners = (b) => [[b[0], b[1]], [b[2], b[3]]];
  const panes = snhkitPanes(map, legend);

  const rectangles = () => drawn.getLayers().filter((layer) => layer.getBounds);
  const sign = { permanent: true, direction: "center", className: "snhkit-number" };
  const number = () => {
    rectangles().forEach((layer, i) => {
      if (layer.getTooltip()) layer.setTooltipContent(String(i + 1));
      else layer.bindTooltip(String(i + 1), sign);
    });
    panes.mirror(rectangles(), boxStyle, sign);
  };
  const hear = {
    boxes(value) {
      drawn.clearLayers();
      for (const b of value) drawn.addLayer(L.rectangle(corners(b), boxStyle));
      number();
    },
    layers(value) {
      panes.layers(value);
      number();
    },
    view(value) {
      map.snhkitMoved = true;
      map.setView([value[0], value[1]], value[2], { animate: false });
    },
    theme(value) {
      for (const name of ["paper", "ink"]) {
        if (CSS.supports("color", value[name])) {
          document.documentElement.style.setProperty(`--snhkit-${name}`, value[name]);
        }
      }
    },
  };
  window.addEventListener("message", (e) => {
    if (e.source !== window.parent || !e.data || e.data.token !== token) return;
    if (Object.hasOwn(hear, e.data.kind)) hear[e.data.kind](e.data.value);
  });

  // The timeout lets folium's handler add a new shape to the group first; "stop" covers Cancel.
  map.on("draw:created draw:edited draw:deleted draw:editstop draw:deletestop", () => setTimeout(() => {
    number();
    say("boxes", rectangles().map((layer) => boxOf(layer.getBounds())));
  }));
  const classes = map.getContainer().classList;  // hides the numbers, which cover the handles
  map.on("draw:editstart", () => classes.add("snhkit-editing"));
  map.on("draw:editstop", () => classes.remove("snhkit-editing"));
  map.on("moveend", () => {
    const at = map.getCenter();
    if (map.snhkitMoved) say("view", [at.lat, at.lng, map.getZoom()]);
  });
  say("ready");
}
