// The map of a public page: counts as colours, and a box that the page counts itself.
// biome-ignore lint/correctness/noUnusedVariables: the page calls it.
async function snhkitPublic(base64) {
  const { header, arrays } = await snhkitCounts.read(base64);
  const { side, top, smooth, least, layer: fields } = header;
  const layer = snhkitCounts.layer(fields, arrays, side);
  const strata = header.strata.map((one) => snhkitCounts.layer(one, arrays, side));
  const map = document.getElementById("map"), said = document.getElementById("answer");
  // Sums over squares around each cell, along one axis and transposed.
  const sums = (values, m, r) => {
    const made = new Float32Array(m * m);
    for (let i = 0; i < m; i++) {
      let sum = 0;
      for (let j = -r; j < m; j++) {
        if (j + r < m) sum += values[i * m + j + r];
        if (j > r) sum -= values[i * m + j - r - 1];
        if (j >= 0) made[j * m + i] = sum;
      }
    }
    return made;
  };
  const blur = (values, m, r) => sums(sums(values, m, r), m, r).map((sum) => sum / (2 * r + 1) ** 2);
  const across = (smooth * (layer.m ?? 0)) / side, r = Math.round(across / 4);  // cells in a square
  const smoothed = !r ? layer : { ...layer, values: blur(blur(layer.values, layer.m, r), layer.m, r) };
  const seen = (10_000 * least) / smooth ** 2;  // records per hectare; fewer may be noise
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // The counts of the box in all strata, such as its day: a line, and the most in words.
  const day = (counts) => {
    const line = document.getElementById("day"), most = Math.max(...counts);
    const points = counts.map((count, k) => [(100 * k) / (counts.length - 1), 38 - (36 * count) / (most || 1)]);
    line.setAttribute("points", points.join(" "));
    const where = line.closest("figure"), labels = JSON.parse(where.dataset.labels);
    where.dataset.counts = JSON.stringify(counts);
    where.querySelector("figcaption").textContent = `In the box on the map, from ${labels[0]} to ${labels.at(-1)}: ` +
      `at most about ${snhkitCounts.number(most)}, for ${labels[counts.indexOf(most)]}.`;
  };
  const city = snhkitCity([map], header, {
    box(box) {
      if (!box) {
        said.textContent = "Drag a box on the map to count in it.";
        return;
      }
      const count = snhkitCounts.answer(layer, box);
      said.textContent = `In this box of ${box[2]} by ${box[3]} m: about ${snhkitCounts.number(Math.max(count, 0))}.`;
      said.dataset.count = count;
      said.dataset.box = JSON.stringify(box);
      if (strata.length) day(strata.map((one) => Math.max(snhkitCounts.answer(one, box), 0)));
    },
  });
  const paint = () => {
    const colours = snhkitCounts.colours(dark.matches
      ? [[60, 15, 90], [140, 41, 129], [222, 73, 104], [254, 159, 109], [252, 253, 191]]
      : [[253, 212, 158], [252, 141, 89], [215, 48, 31], [127, 0, 0], [60, 0, 10]]);
    city.show(0, snhkitCounts.picture(smoothed, top, colours, seen), layer.m ? side / layer.m : 40);
  };
  dark.addEventListener("change", paint);
  document.documentElement.classList.add("live");  // hides the picture for those without scripts
  city.look({ x: 0, y: 0, span: side });
  paint();
  city.setBox(header.box);
  for (const [id, factor] of [["in", 0.7], ["out", 1.4]]) {
    document.getElementById(id).addEventListener("click", () => city.zoom(factor));
  }
  window.snhkitPublicOpen = { city, answer: (box) => snhkitCounts.answer(layer, box) };
}
