// The part of DrawMap inside the map's page; needs Leaflet, Leaflet.draw, furniture.js and panes.js.
// biome-ignore lint/correctness/noUnusedVariables: the script that draw_map.py writes calls it.
function drawBridge(map, drawn, token, boxStyle, legend) {
  const say = (kind, value) => window.parent.postMessage({ token, kind, value }, "*");
  const round = (x) => Math.round(x * 1e7) / 1e7;
  const sides = (b) => [b.getSouth(), b.getWest(), b.getNorth(), b.getEast()];
  // A box that came from Python keeps its own numbers until a person moves it.
  const boxOf = (layer) => {
    const now = sides(layer.getBounds());
    const given = layer.snhkitBox;
    return given?.every((value, i) => value === now[i]) ? given : now.map(round);
  };
  const corners = (b) => [[b[0], b[1]], [b[2], b[3]]];
  const panes = snhkitPanes(map, legend);

  const rectangles = () => drawn.getLayers().filter((layer) => layer.getBounds);
  const show = () => panes.mirror(rectangles().map((layer) => layer.getBounds()), boxStyle);
  const tell = () => {
    own = true;
    show();
    say("boxes", rectangles().map(boxOf));
  };
  let declared = null, own = false;  // own: a person has just changed the boxes
  const hear = {
    boxes(value) {
      drawn.clearLayers();
      for (const b of value) {
        drawn.addLayer(Object.assign(L.rectangle(corners(b), boxStyle), { snhkitBox: b }));
      }
      show();
    },
    layers(value) {
      panes.layers(value);
      show();
    },
    cards(value) {
      snhkitCards(rectangles(), value, own);
      own = false;
    },
    fit([south, west, north, east]) {
      map.snhkitFit([[south, west], [north, east]]);
    },
    declared(value) {
      declared?.remove();
      declared = null;
      if (!value.length) return;
      const style = { className: "snhkit-declared", weight: 2, dashArray: "6 4", fill: false };
      declared = L.rectangle(corners(value), { ...style, interactive: false }).addTo(map);
      hear.fit(value);
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
  map.on("draw:created draw:edited draw:deleted draw:editstop draw:deletestop", () => setTimeout(tell));
  map.on("draw:editmove draw:editresize", show);  // the numbers go with a box that is being edited
  snhkitKeyboard(map, drawn, boxStyle, tell);
  map.on("moveend", () => {
    const at = map.getCenter();
    if (map.snhkitMoved) say("view", [at.lat, at.lng, map.getZoom()]);
  });
  say("ready");
}
