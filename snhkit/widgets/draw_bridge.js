// The part of DrawMap inside the map's page; needs Leaflet, Leaflet.draw, furniture.js, panes.js and boxes.js.
// biome-ignore lint/correctness/noUnusedVariables: the script that draw_map.py writes calls it.
function drawBridge(map, drawn, token, boxStyle, legend, square) {
  const say = (kind, value) => window.parent.postMessage({ token, kind, value }, "*");
  const round = (x) => Math.round(x * 1e7) / 1e7;
  const sides = (b) => [b.getSouth(), b.getWest(), b.getNorth(), b.getEast()];
  // A box that came from Python keeps its own numbers until a person moves it.
  const boxOf = (layer) => {
    const now = sides(layer.getBounds());
    const given = layer.snhkitBox;
    return given?.every((value, i) => value === now[i]) ? given : now.map(round);
  };
  const panes = snhkitPanes(map, legend);
  const show = () => square || panes.mirror(boxes.all().map((layer) => layer.getBounds()), boxStyle);
  let cards = [];
  const tell = () => {  // first, since the answers take longer than the drawing
    say("boxes", boxes.all().map(boxOf));
    show();
  };
  const deal = () => snhkitCards(map, boxes.all(), cards, boxes.picked);
  const boxes = snhkitBoxes(map, drawn, boxStyle, {
    square,
    changed: tell,
    picked: (k) => { say("picked", k); deal(); },
    hovered: (k) => say("hovered", k),
  });
  const hear = {
    boxes(value) {
      boxes.set(value);
      show();
    },
    layers(value) {
      panes.layers(value);
      show();
    },
    cards(value) {
      cards = value;
      deal();
    },
    pick(k) { boxes.pick(boxes.all()[k] ?? null); },
    fit([south, west, north, east]) {
      map.snhkitFit([[south, west], [north, east]]);
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
  map.on("zoomend moveend resize", deal);
  map.on("moveend", () => {
    const at = map.getCenter();
    if (map.snhkitMoved) say("view", [at.lat, at.lng, map.getZoom()]);
  });
  say("ready");
}
