// A city on one or several canvases that move together: coasts, a picture of counts, and one box that a
// person draws, moves, resizes and nudges. Positions are metres from the lower-left corner.
// biome-ignore lint/correctness/noUnusedVariables: the scripts of pages call it.
function snhkitCity(canvases, city, heard) {
  const { side, land, names } = city;
  const panes = canvases.map((canvas) => ({ canvas, pen: canvas.getContext("2d"), picture: null, cell: 1 }));
  const GRIP = 11, STEP = 10, LEAST = 10;
  let view = { x: 0, y: 0, span: side }, box = null, waiting = false, drag = null;
  const touches = new Map();
  const css = (name) => getComputedStyle(canvases[0]).getPropertyValue(name);

  const scale = (pane) => pane.canvas.clientWidth / view.span;  // pixels in a metre
  const toPixels = (pane, x, y) => [
    (x - view.x) * scale(pane), pane.canvas.clientHeight - (y - view.y) * scale(pane),
  ];
  const toMetres = (pane, e) => {
    const at = pane.canvas.getBoundingClientRect();
    return [view.x + (e.clientX - at.left) / scale(pane), view.y + (at.bottom - e.clientY) / scale(pane)];
  };

  function draw(pane) {
    const { canvas, pen, picture, cell } = pane;
    const size = canvas.clientWidth, sharp = window.devicePixelRatio || 1;
    if (!size) return;
    if (canvas.width !== Math.round(size * sharp)) canvas.width = canvas.height = Math.round(size * sharp);
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.fillStyle = css("--sea");
    pen.fillRect(0, 0, size, size);
    const path = new Path2D();
    for (const rings of land) {
      for (const ring of rings) {
        for (let k = 0; k < ring.length; k += 2) {
          path[k ? "lineTo" : "moveTo"](...toPixels(pane, ring[k], ring[k + 1]));
        }
        path.closePath();
      }
    }
    pen.fillStyle = css("--land");
    pen.fill(path, "evenodd");
    if (picture) {
      const part = picture.width / side, k = scale(pane);
      pen.imageSmoothingEnabled = cell * k < 1.5;
      pen.imageSmoothingQuality = "high";
      pen.drawImage(
        picture, view.x * part, (side - view.y - view.span) * part, view.span * part, view.span * part,
        0, 0, view.span * k, view.span * k,
      );
    }
    Object.assign(pen, { strokeStyle: css("--coast"), lineWidth: 1 });
    pen.stroke(path);
    Object.assign(pen, { textAlign: "center", font: "600 12px system-ui, sans-serif", lineWidth: 3, lineJoin: "round" });
    for (const [x, y, name] of names) {
      const [middle, top] = toPixels(pane, x, y), half = pen.measureText(name).width / 2 + 4;
      if (middle < 0 || middle > size || top < 0 || top > size) continue;
      const left = Math.min(Math.max(middle, half), size - half);
      pen.strokeStyle = css("--land");
      pen.strokeText(name, left, top);
      pen.fillStyle = css("--ink");
      pen.fillText(name, left, top);
    }
    ruler(pane, size);
    if (!box) return;
    const [left, bottom] = toPixels(pane, box[0], box[1]);
    const [wide, high] = [box[2] * scale(pane), box[3] * scale(pane)];
    for (const [width, colour] of [[5, "rgb(0 0 0 / 55%)"], [2.5, "#fff"]]) {
      Object.assign(pen, { strokeStyle: colour, lineWidth: width });
      pen.strokeRect(left, bottom - high, wide, high);
    }
  }

  function ruler(pane, size) {
    const metres = [100, 200, 500, 1000, 2000, 5000, 10000].find((m) => m * scale(pane) > 44) ?? 20000;
    const wide = metres * scale(pane);
    pane.pen.fillStyle = css("--ink");
    pane.pen.fillRect(10, size - 12, wide, 2.5);
    Object.assign(pane.pen, { textAlign: "left", font: "11px system-ui, sans-serif", strokeStyle: css("--land"), lineWidth: 3 });
    const text = metres < 1000 ? `${metres} m` : `${metres / 1000} km`;
    pane.pen.strokeText(text, 10, size - 17);
    pane.pen.fillText(text, 10, size - 17);
  }

  function repaint() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      for (const pane of panes) draw(pane);
      heard.painted?.();
    });
  }

  function look(next) {
    const span = Math.min(Math.max(next.span, 500), side);
    const inside = (at) => Math.min(Math.max(at, 0), side - span);
    view = { x: inside(next.x), y: inside(next.y), span };
    repaint();
  }
  const zoom = (factor, [x, y] = [view.x + view.span / 2, view.y + view.span / 2]) =>
    look({ x: x - (x - view.x) * factor, y: y - (y - view.y) * factor, span: view.span * factor });

  // Boxes have whole metres, so that the page and Python are asked the same.
  function setBox(next) {
    if (next) {
      const [wide, high] = [next[2], next[3]].map((s) => Math.min(Math.max(Math.round(s), LEAST), side));
      const inside = (at, s) => Math.min(Math.max(Math.round(at), 0), side - s);
      next = [inside(next[0], wide), inside(next[1], high), wide, high];
    }
    box = next;
    heard.box?.(box);
    repaint();
  }

  // Where a pointer is: at a corner of the box [-1 or 1, -1 or 1], inside [0, 0], or elsewhere.
  function grip(pane, e) {
    if (!box) return null;
    const [x, y] = toMetres(pane, e), near = GRIP / scale(pane);
    for (const [i, j] of [[-1, -1], [-1, 1], [1, -1], [1, 1]]) {
      const corner = [box[0] + (i > 0 ? box[2] : 0), box[1] + (j > 0 ? box[3] : 0)];
      if (Math.hypot(x - corner[0], y - corner[1]) < near) return [i, j];
    }
    const within = x > box[0] && x < box[0] + box[2] && y > box[1] && y < box[1] + box[3];
    return within ? [0, 0] : null;
  }

  function between([x0, y0], [x1, y1]) {
    return [Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0)];
  }

  function move(pane, e) {
    const at = toMetres(pane, e);
    if (drag.pan) {
      look({ x: view.x + drag.from[0] - at[0], y: view.y + drag.from[1] - at[1], span: view.span });
    } else if (drag.held && !drag.held[0]) {
      setBox([drag.box[0] + at[0] - drag.from[0], drag.box[1] + at[1] - drag.from[1], drag.box[2], drag.box[3]]);
    } else if (drag.far || Math.hypot(e.clientX - drag.at[0], e.clientY - drag.at[1]) > 4) {
      drag.far = true;  // a click alone draws no box
      setBox(between(drag.fixed, at));
    }
  }

  function pinch(pane, e) {
    const before = [...touches.values()].map(([x, y]) => [x, y]);
    touches.set(e.pointerId, [e.clientX, e.clientY]);
    const after = [...touches.values()];
    const apart = (p) => Math.hypot(p[0][0] - p[1][0], p[0][1] - p[1][1]) || 1;
    const middle = { clientX: (after[0][0] + after[1][0]) / 2, clientY: (after[0][1] + after[1][1]) / 2 };
    const old = { clientX: (before[0][0] + before[1][0]) / 2, clientY: (before[0][1] + before[1][1]) / 2 };
    const [from, to] = [toMetres(pane, old), toMetres(pane, middle)];
    look({ x: view.x + from[0] - to[0], y: view.y + from[1] - to[1], span: view.span });
    zoom(apart(before) / apart(after), toMetres(pane, middle));
  }

  for (const pane of panes) {
    const { canvas } = pane;
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      touches.set(e.pointerId, [e.clientX, e.clientY]);
      if (touches.size === 2 && drag) {  // the first finger did not mean a box
        if (drag.far) setBox(drag.box);
        drag = null;
      }
      if (touches.size > 1) return;
      const held = grip(pane, e), from = toMetres(pane, e);
      const fixed = held?.[0]
        ? [box[0] + (held[0] > 0 ? 0 : box[2]), box[1] + (held[1] > 0 ? 0 : box[3])]
        : from;
      drag = { held, from, fixed, box, at: [e.clientX, e.clientY], pan: e.shiftKey, far: false };
      canvas.focus({ preventScroll: true });
      e.preventDefault();
    });
    canvas.addEventListener("pointermove", (e) => {
      if (touches.size === 2) pinch(pane, e);
      else if (drag) move(pane, e);
      else {
        const held = grip(pane, e);
        canvas.style.cursor = !held ? "crosshair" : held[0] ? (held[0] === held[1] ? "nesw-resize" : "nwse-resize") : "move";
      }
    });
    for (const end of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(end, (e) => {
        touches.delete(e.pointerId);
        drag = null;
      });
    }
    canvas.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;  // the wheel alone scrolls the page
      e.preventDefault();
      zoom(e.deltaY > 0 ? 1.25 : 0.8, toMetres(pane, e));
    }, { passive: false });
    canvas.addEventListener("keydown", (e) => {
      const [i, j] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[e.key] ?? [0, 0];
      if (i || j) {
        const [x, y, wide, high] = box ?? [view.x + view.span / 2, view.y + view.span / 2, 200, 200];
        setBox(e.shiftKey ? [x, y, wide + i * STEP, high + j * STEP] : [x + i * STEP, y + j * STEP, wide, high]);
      } else if (e.key === "+" || e.key === "-") zoom(e.key === "+" ? 0.7 : 1.4);
      else if (e.key === "Escape" || e.key === "Delete") setBox(null);
      else return;
      e.preventDefault();
    });
    new ResizeObserver(repaint).observe(canvas);
  }
  return {
    look, zoom, setBox, repaint,
    get box() { return box; },
    get view() { return view; },
    show(k, picture, cell) {
      Object.assign(panes[k], { picture, cell });
      repaint();
    },
    // Where the box is on a canvas, in pixels: left, top, width, height.
    place(k) {
      const [left, bottom] = toPixels(panes[k], box[0], box[1]);
      const [wide, high] = [box[2] * scale(panes[k]), box[3] * scale(panes[k])];
      return [left, bottom - high, wide, high];
    },
  };
}
