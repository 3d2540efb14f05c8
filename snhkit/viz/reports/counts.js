// Counts of releases in a page: read from compressed bytes, and added up over boxes as Python does.
// biome-ignore lint/correctness/noUnusedVariables: the scripts of pages call it.
const snhkitCounts = {
  // Returns the header and the arrays that packed() in counts.py has written.
  async read(base64) {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const content = await new Response(stream).arrayBuffer();
    const end = 4 + new DataView(content).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(content.slice(4, end)));
    const kinds = {
      int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
      int32: Int32Array, uint32: Uint32Array, float64: Float64Array,
    };
    const arrays = {};
    for (const [name, [kind, at, size]] of Object.entries(header.arrays)) {
      const from = end + at, type = kinds[kind];
      arrays[name] = new type(content.slice(from, from + size * type.BYTES_PER_ELEMENT));
    }
    return { header, arrays };
  },

  // Returns a layer that answers: a grid of m by m counts, or rectangles with counts.
  layer(fields, arrays, side) {
    const { m, unit, snapped, step } = fields;
    return { side, m, unit, snapped, step, values: arrays[fields.values], edges: arrays[fields.edges] };
  },

  // Returns the sum over the box [x, y, width, height], in metres from the lower-left corner.
  // A cell that is partly covered counts in proportion to its area.
  answer(layer, [x, y, width, height]) {
    const { side, m, unit, values, edges, step, snapped } = layer;
    let sum = 0;
    if (edges) {
      const c = values.length;
      const [x0, y0] = [Math.max(x, 0), Math.max(y, 0)];
      const [x1, y1] = [Math.min(x + width, side), Math.min(y + height, side)];
      for (let k = 0; k < c; k++) {
        const west = edges[k] * step, south = edges[c + k] * step;
        const east = edges[2 * c + k] * step, north = edges[3 * c + k] * step;
        const across = Math.min(east, x1) - Math.max(west, x0);
        const up = Math.min(north, y1) - Math.max(south, y0);
        if (across > 0 && up > 0) sum += values[k] * ((across * up) / ((east - west) * (north - south)));
      }
      return sum * unit;
    }
    const cell = side / m;
    const place = (at) => {
      const steps = Math.min(Math.max(at / cell, 0), m);
      return snapped ? Math.round(steps * 2 ** 20) / 2 ** 20 : steps;
    };
    const [x0, x1, y0, y1] = [x, x + width, y, y + height].map(place);
    for (let i = Math.floor(x0); i < x1; i++) {
      const across = Math.min(i + 1, x1) - Math.max(i, x0);
      let column = 0;
      for (let j = Math.floor(y0); j < y1; j++) {
        column += values[i * m + j] * (Math.min(j + 1, y1) - Math.max(j, y0));
      }
      sum += column * across;
    }
    return sum * unit;
  },

  // Returns a picture of a layer: the colour of each density, on a scale of square roots up to top;
  // densities below least have none.
  picture(layer, top, colours, least = 0) {
    const { side, m, unit, values, edges, step } = layer;
    const canvas = document.createElement("canvas");
    const colour = (density) => density < least ? 0 : Math.round(255 * Math.sqrt(Math.min(Math.max(density / top, 0), 1)));
    const hectares = 10_000;
    if (edges) {
      const size = 1024, c = values.length, pen = canvas.getContext("2d");
      canvas.width = canvas.height = size;
      for (let k = 0; k < c; k++) {
        const [west, south, east, north] = [0, 1, 2, 3].map((n) => edges[n * c + k] * step);
        const density = (values[k] * unit * hectares) / ((east - west) * (north - south));
        const [r, g, b, a] = colours.slice(4 * colour(density), 4 * colour(density) + 4);
        if (!a) continue;
        const [left, right, low, high] = [west, east, south, north].map((at) => Math.round((at / side) * size));
        pen.fillStyle = `rgb(${r} ${g} ${b} / ${a / 255})`;
        pen.fillRect(left, size - high, right - left, high - low);
      }
      return canvas;
    }
    canvas.width = canvas.height = m;
    const pen = canvas.getContext("2d"), image = pen.createImageData(m, m);
    const words = new Uint32Array(image.data.buffer), palette = new Uint32Array(colours.buffer);
    const density = (unit * hectares) / (side / m) ** 2;
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < m; j++) words[(m - 1 - j) * m + i] = palette[colour(values[i * m + j] * density)];
    }
    pen.putImageData(image, 0, 0);
    return canvas;
  },

  // Returns 256 colours, four bytes each, from transparent over the given stops [[r, g, b], ...].
  colours(stops) {
    const bytes = new Uint8Array(1024);
    for (let k = 1; k < 256; k++) {
      const at = (k / 255) * (stops.length - 1), n = Math.min(Math.floor(at), stops.length - 2);
      for (const c of [0, 1, 2]) {
        bytes[4 * k + c] = Math.round(stops[n][c] + (at - n) * (stops[n + 1][c] - stops[n][c]));
      }
      bytes[4 * k + 3] = Math.min(255, 16 * k);  // the faintest densities let the land show
    }
    return bytes;
  },

  // One rule for numbers: whole up to 999, else three figures.
  number(value) {
    const size = Math.abs(value);
    const shown = size >= 1000 ? Number(value.toPrecision(3)) : Math.round(value);
    return (shown + 0).toLocaleString("en").replace("-", "−");
  },
};
