// The card of a box: its counts by each release as bars with their intervals, and the truth if given.
// It shows while a pointer is over the box, and stays at the box that a person picked.
// biome-ignore lint/correctness/noUnusedVariables: draw_bridge.js calls it.
function snhkitCards(map, layers, cards, picked) {
  const part = (parent, className, text = "") => {
    const element = L.DomUtil.create("div", className, parent);
    element.textContent = text;  // never as HTML
    return element;
  };
  const content = (card) => {
    const box = document.createElement("div");
    part(box, "snhkit-card-size", `${card.number}: ${card.size}`);
    if (card.counted) part(box, "", card.counted);
    const ends = new Set(card.rows.map(([name]) => name.split(", ε = ")[1]));
    const short = (name) => (ends.size === 1 ? name.split(", ε = ")[0] : name);
    const rows = card.truth === undefined ? card.rows : [["Truth", card.truth, "", "#808080", card.true, card.true, card.true], ...card.rows];
    for (const [name, count, interval, colour, at, low, high] of rows) {
      const row = part(box, "snhkit-card-row");
      part(row, "", short(name));
      const bar = part(row, "snhkit-card-bar");
      part(bar, "snhkit-card-count").style.cssText = `width:${100 * at}%;background:${colour}`;
      part(bar, "snhkit-card-range").style.cssText = `left:${100 * low}%;width:${100 * (high - low)}%`;
      if (card.truth !== undefined) part(bar, "snhkit-card-true").style.left = `${100 * card.true}%`;
      part(row, "snhkit-card-number", count);
      if (interval) part(row, "snhkit-card-interval", interval);
    }
    for (const line of card.lines ?? []) {
      const { name, colour, ends, top, said } = line, row = part(box, "snhkit-card-line");
      row.append(drawn(line, `${short(name)}: ${said}`, colour));
      for (const text of [ends[0], said, ends[1]]) part(row, "", text);
      part(row, "snhkit-card-top", top);
    }
    return box;
  };
  // The counts of strata, such as hours, as a line in the band of their intervals.
  const drawn = ({ places, truth }, label, colour) => {
    const create = (kind, fields) => {
      const shape = L.SVG.create(kind);
      for (const [key, value] of Object.entries(fields)) shape.setAttribute(key, value);
      return shape;
    };
    const at = (y, k) => `${(100 * k) / (places.length - 1)},${40 * (1 - y)}`;
    const high = places.map((place, k) => at(place[2], k)), low = places.map((place, k) => at(place[1], k));
    const line = { fill: "none", "stroke-width": 2, "vector-effect": "non-scaling-stroke" };
    const svg = create("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img", "aria-label": label });
    svg.append(
      create("polygon", { points: [...high, ...low.reverse()].join(" "), fill: colour, "fill-opacity": 0.3 }),
      create("polyline", { ...line, points: places.map((place, k) => at(place[0], k)).join(" "), stroke: colour }),
    );
    if (truth) {
      svg.append(create("polyline", { ...line, points: truth.map(at).join(" "), stroke: "#1b1b1b", "stroke-dasharray": "3 3" }));
    }
    return svg;
  };
  const intoView = ({ tooltip, target }) => {  // a card must not be cut off by the edge of the map
    const card = tooltip.getElement(), container = target._map.getContainer();
    const map = container.getBoundingClientRect();
    const tools = container.querySelector(".leaflet-top.leaflet-left").getBoundingClientRect();
    card.style.marginLeft = card.style.marginTop = "0";
    const { left, right, top, bottom } = card.getBoundingClientRect();
    const inside = (low, high, from, to) => (low < from + 4 ? from + 4 - low : Math.min(0, to - 4 - high));
    const down = inside(top, bottom, map.top, map.bottom);
    // The buttons of the map lie above a card: it goes beside them if there is room.
    const free = top + down < tools.bottom && tools.right + right - left + 8 <= map.right;
    card.style.marginLeft = `${inside(left, right, free ? tools.right : map.left, map.right)}px`;
    card.style.marginTop = `${down}px`;
  };
  layers.forEach((layer, k) => {
    const before = layer.getTooltip(), permanent = k === picked;
    if (!cards[k]) {
      layer.unbindTooltip();
      return;
    }
    const [west, east] = ["getNorthWest", "getNorthEast"].map((of) => map.latLngToLayerPoint(layer.getBounds()[of]()).x);
    const offset = [(east - west) / 2 + 10, 0];  // beside the box, left or right of it
    if (before?.options.permanent === permanent) {  // a card that stays on the map must not flicker
      before.options.offset = offset;
      before.setContent(() => content(cards[k]));
      if (!before.isOpen()) return;
      before.setLatLng(layer.getCenter());
      intoView({ tooltip: before, target: layer });
      return;
    }
    layer.off("tooltipopen").on("tooltipopen", intoView);
    const options = { className: "snhkit-card", direction: "auto", opacity: 1, offset, permanent };
    layer.bindTooltip(() => content(cards[k]), options);
  });
}
