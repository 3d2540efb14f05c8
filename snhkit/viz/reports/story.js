// The story of epsilon: the truth beside a release, one slider, a switch of methods, and one box.
// biome-ignore lint/correctness/noUnusedVariables: the page calls it.
async function snhkitStory(base64) {
  const { header: story, arrays } = await snhkitCounts.read(base64);
  const { side, stops, methods } = story;
  const $ = (id) => document.getElementById(id);
  const make = (tag, parent, properties = {}) =>
    parent.appendChild(Object.assign(document.createElement(tag), properties));
  const shape = document.createElement("template");
  shape.innerHTML = "<svg></svg>"; // its namespace is that of pictures
  const SVG = shape.content.firstChild.namespaceURI;
  const draw = (tag, parent, attributes) => {
    const element = parent.appendChild(document.createElementNS(SVG, tag));
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const percent = (share) => `${Number((100 * share).toPrecision(2))}\u00a0%`;

  // The truth: invented records in whole metres, in the order of x.
  const n = arrays.y.length, xs = new Uint32Array(n), ys = arrays.y;
  for (let k = 0, x = 0; k < n; k++) xs[k] = (x += arrays.dx[k]);
  const below = (x) => {  // how many records lie west of x
    let low = 0, high = n;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (xs[middle] < x) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const truth = ([x, y, wide, high]) => {
    let count = 0;
    for (let k = below(x); k < n && xs[k] < x + wide; k++) count += ys[k] >= y && ys[k] < y + high;
    return count;
  };
  const m = Math.round(side / 25), real = { side, m, unit: 1, values: new Uint16Array(m * m) };
  for (let k = 0; k < n; k++) {
    const [i, j] = [xs[k], ys[k]].map((at) => Math.min(Math.floor((at / side) * m), m - 1));
    real.values[i * m + j]++;
  }
  const layers = story.layers.map((fields) => ({
    ...snhkitCounts.layer(fields, arrays, side), errors: fields.errors, found: fields.found,
  }));
  const at = (k, stop) => layers[k * stops.length + stop];

  let method = 0, stop = stops.indexOf(0.1), before = null;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const ramp = () => snhkitCounts.colours(dark.matches
    ? [[60, 15, 90], [140, 41, 129], [222, 73, 104], [254, 159, 109], [252, 253, 191]]
    : [[253, 212, 158], [252, 141, 89], [215, 48, 31], [127, 0, 0], [60, 0, 10]]);
  let colours = ramp();
  const city = snhkitCity([$("truth"), $("release")], story, { box: answer, painted: placeCard });

  const cell = (layer) => (layer.m ? side / layer.m : 40);
  const painted = [];  // the newest pictures; more would fill a telephone's memory
  function picture(layer) {
    if (!layer.picture) {
      layer.picture = snhkitCounts.picture(layer, story.top, colours);
      painted.push(layer);
      if (painted.length > 9) painted.shift().picture = null;
    }
    return layer.picture;
  }

  // ---- the chart of errors, whose horizontal axis is the slider's
  const WIDE = 320, HIGH = 150, LEFT = 34, RIGHT = 8, TOP = 8, BOTTOM = 6;
  const across = (k) => LEFT + (k * (WIDE - LEFT - RIGHT)) / (stops.length - 1);
  const worst = Math.max(...layers.map(({ errors }) => errors[0]));
  const least = Math.min(...layers.map(({ errors }) => errors[0]));
  const up = (e) => TOP + ((HIGH - TOP - BOTTOM) * Math.log(worst / e)) / Math.log(worst / least);
  const chart = $("chart"), lines = [];
  chart.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  for (const e of [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2].filter((e) => e <= worst && e >= least)) {
    draw("line", chart, { x1: LEFT, x2: WIDE - RIGHT, y1: up(e), y2: up(e), class: "rule" });
    draw("text", chart, { x: LEFT - 4, y: up(e) + 3.5, class: "tick" }).textContent = percent(e);
  }
  const mark = draw("line", chart, { y1: 0, y2: HIGH, class: "mark" });
  methods.forEach(({ colour }, k) => {
    const points = stops.map((_, s) => `${across(s)},${up(at(k, s).errors[0])}`).join(" ");
    const line = draw("polyline", chart, { points, stroke: colour, class: "curve" });
    lines.push([line, draw("circle", chart, { r: 4, fill: colour })]);
  });
  chart.addEventListener("click", (e) => {
    const box = chart.getBoundingClientRect(), x = ((e.clientX - box.left) / box.width) * WIDE;
    choose(method, Math.min(Math.max(Math.round(((x - LEFT) / (WIDE - LEFT - RIGHT)) * (stops.length - 1)), 0), stops.length - 1));
  });

  // ---- the switch of methods and the slider
  methods.forEach(({ title, about, colour }, k) => {
    const label = make("label", $("methods"), { title: about });
    label.style.setProperty("--colour", colour);
    const radio = make("input", label, { type: "radio", name: "method", value: k });
    make("span", label, { textContent: title });
    radio.addEventListener("change", () => choose(k, stop));
  });
  const slider = Object.assign($("epsilon"), { min: 0, max: stops.length - 1, step: 1 });
  slider.addEventListener("input", () => choose(method, Number(slider.value)));
  stops.forEach((e) => { make("span", $("stops"), { textContent: e }); });

  const best = () => methods.map((_, k) => k).sort((a, b) => at(a, stop).errors[0] - at(b, stop).errors[0])[0];
  const lost = (k, s) => story.busy - at(k, s).found;

  function sentence() {
    const here = at(method, stop), title = methods[method].title, top = best();
    const now = `At ε = ${stops[stop]}, ${title} loses ${lost(method, stop)} of the city's ${story.busy} busiest blocks, and is off by ${percent(here.errors[0])} in a small box.`;
    let change = "";
    if (before !== null && before !== stop) {
      const gone = lost(method, stop) - lost(method, before);
      change = `From ε = ${stops[before]} to ${stops[stop]}, ${Math.abs(gone)} busy blocks ${gone > 0 ? "are lost" : "come back"}. `;
    }
    const other = top === method ? methods.map((_, k) => k).sort((a, b) => at(b, stop).errors[0] - at(a, stop).errors[0])[0] : top;
    const ratio = at(other, stop).errors[0] / here.errors[0];
    const beside = ratio < 1
      ? `${methods[other].title} hides people just as well and is off by only ${percent(at(other, stop).errors[0])}.`
      : `That is the least of all here: ${methods[other].title} is off ${ratio.toPrecision(2)} times as much, for the same privacy.`;
    return `${change}${now} ${beside}`;
  }

  function choose(k, s) {
    before = s === stop ? before : stop;
    [method, stop] = [k, s];
    const epsilon = stops[stop], layer = at(method, stop), sure = 1 / (1 + Math.exp(-epsilon));
    slider.value = stop;
    slider.setAttribute("aria-valuetext", `epsilon ${epsilon}`);
    for (const radio of document.getElementsByName("method")) radio.checked = Number(radio.value) === method;
    for (const shown of document.querySelectorAll(".epsilon")) shown.textContent = epsilon;
    $("name").textContent = methods[method].title;
    mark.setAttribute("x1", across(stop));
    mark.setAttribute("x2", across(stop));
    lines.forEach(([line, dot], i) => {
      line.classList.toggle("chosen", i === method);
      dot.setAttribute("cx", across(stop));
      dot.setAttribute("cy", up(at(i, stop).errors[0]));
      dot.setAttribute("r", i === method ? 5.5 : 3);
    });
    [...$("stops").children].forEach((span, i) => { span.className = i === stop ? "here" : ""; });
    $("said").textContent = sentence();
    $("sure").textContent = `${(100 * sure).toPrecision(3)} %`;  // "at most 50 %" would be too little
    $("guess").style.setProperty("--share", `${200 * (sure - 0.5)}%`);
    $("off").textContent = percent(layer.errors[0]);
    $("error").style.setProperty("--share", `${Math.min(100 * layer.errors[0], 100)}%`);
    city.show(1, picture(layer), cell(layer));
    answer(city.box);
    document.documentElement.dataset.stop = stop;  // tells a test that the picture was chosen
  }

  // ---- the card at the box
  const card = $("card");
  function answer(box) {
    card.hidden = !box;
    if (!box) return;
    const real = truth(box), all = methods.map((_, k) => snhkitCounts.answer(at(k, stop), box));
    const top = Math.max(real, ...all, 1);
    const rows = [["Truth", real, "var(--ink)"], ...methods.map(({ title, colour }, k) => [title, all[k], colour])];
    card.replaceChildren();
    make("b", card, { textContent: `${box[2]} × ${box[3]} m` });
    rows.forEach(([title, count, colour], k) => {
      const row = make("div", card, { className: k - 1 === method ? "row chosen" : "row" });
      make("span", row, { textContent: title });
      const bar = make("i", row);
      bar.style.cssText = `--share:${(100 * Math.max(count, 0)) / top}%;--colour:${colour};--truth:${(100 * real) / top}%`;
      make("span", row, { className: "count", textContent: snhkitCounts.number(count) });
    });
    card.dataset.answers = JSON.stringify([real, ...all]);
    card.dataset.box = JSON.stringify(box);
  }
  function placeCard() {
    if (!city.box) return;
    if (getComputedStyle(card).position === "static") {  // a telephone: the card lies below the maps
      card.style.transform = "";
      return;
    }
    const [left, top, wide, high] = city.place(1), room = $("release").clientWidth;
    const [w, h] = [card.offsetWidth, card.offsetHeight];
    const [map, main] = [$("release"), card.parentElement].map((e) => e.getBoundingClientRect());
    const right = left + wide + 10;
    const x = right + w < room ? right : left - w - 10 > 0 ? left - w - 10 : Math.min(Math.max(left, 0), room - w);
    const y = right + w < room || left - w - 10 > 0 ? top : top + high + 10 + h < room ? top + high + 10 : top - h - 10;
    const [dx, dy] = [Math.max(x, 4), Math.min(Math.max(y, 4), Math.max(room - h - 4, 4))];
    card.style.transform = `translate(${map.left - main.left + dx}px, ${map.top - main.top + dy}px)`;
  }

  // ---- the table of errors
  function compare() {
    const table = $("errors");
    table.replaceChildren();
    const head = make("tr", make("thead", table));
    const units = story.bands.map((band) => (band === "anywhere" ? "anywhere, records" : band));
    for (const text of ["Method", ...units, `of ${story.busy} busiest blocks`]) {
      make("th", head, { textContent: text, scope: "col" });
    }
    const body = make("tbody", table);
    const order = methods.map((_, k) => k).sort((a, b) => at(a, stop).errors[0] - at(b, stop).errors[0]);
    for (const k of order) {
      const row = make("tr", body), { errors, found } = at(k, stop);
      make("th", row, { textContent: methods[k].title, scope: "row" });
      errors.forEach((e, i) => {
        make("td", row, { textContent: story.bands[i] === "anywhere" ? Number(e.toPrecision(2)) : percent(e) });
      });
      make("td", row, { textContent: `${found} found` });
    }
  }
  $("compare").addEventListener("click", () => {
    compare();
    $("table").showModal();
  });
  $("close").addEventListener("click", () => $("table").close());
  $("table").addEventListener("click", (e) => { if (e.target === $("table")) $("table").close(); });

  const [x, y, span] = story.window;
  $("whole").addEventListener("click", () => city.look({ x: 0, y: 0, span: side }));
  $("near").addEventListener("click", () => city.look({ x, y, span }));
  $("in").addEventListener("click", () => city.zoom(0.7));
  $("out").addEventListener("click", () => city.zoom(1.4));
  function paint() {
    colours = ramp();
    for (const layer of painted.splice(0)) layer.picture = null;
    city.show(0, picture(real), 25);
    choose(method, stop);
  }
  dark.addEventListener("change", paint);
  city.look({ x, y, span });
  paint();
  city.setBox(story.box);
  document.documentElement.dataset.ready = "yes";
  window.snhkitStoryOpen = { city, choose, answer: (box) => [truth(box), ...methods.map((_, k) => snhkitCounts.answer(at(k, stop), box))] };
}
