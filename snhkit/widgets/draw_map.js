// The part of DrawMap in the notebook: a sandboxed frame, and messages to and from the frame.
// Each side checks the other's window and a random token, so that maps on one page do not mix.
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");  // an opaque origin: the frame cannot access the notebook
  frame.className = "snhkit-draw-map";
  frame.title = "Map on which rectangles are drawn";
  Object.assign(frame.style, { width: "100%", border: "0", display: "block" });
  let ready = false, shown = null, view = null, held = -1;  // shown, held: the frame's boxes, as JSON, and pick
  const send = (kind, value) => ready &&
    frame.contentWindow.postMessage({ token: model.get("_token"), kind, value }, "*");
  const push = {
    _html: () => { ready = false; view = null; frame.srcdoc = model.get("_html"); },
    height: () => { frame.style.height = model.get("height") ? `${model.get("height")}px` : "100%"; },
    boxes: () => {
      const boxes = JSON.stringify(model.get("boxes"));
      if (boxes === shown) return;  // an echo of the change that the frame reported
      if (ready) shown = boxes;
      send("boxes", model.get("boxes"));
    },
    layers: () => send("layers", model.get("layers")),
    cards: () => send("cards", model.get("cards")),
    picked: () => {
      if (model.get("picked") === held) return;  // an echo, as above
      held = model.get("picked");
      send("pick", held);
    },
    view: () => { if (model.get("view").length) send("fit", model.get("view")); },
  };
  const pushTheme = () => {  // JupyterLab's colours; other front ends keep the map's own
    const style = getComputedStyle(el);
    const colour = (name) => style.getPropertyValue(name).trim();
    send("theme", { paper: colour("--jp-layout-color2"), ink: colour("--jp-ui-font-color1") });
  };
  // Otherwise JupyterLab takes the arrow keys away from the slider and the menus.
  const keepKeys = (e) => e.target.setAttribute("data-lm-suppress-shortcuts", "true");
  // The rows of a box that is picked or under the pointer stand out in the tables beside the map. A
  // rule with ":has" would let the browser look at all of a notebook again.
  const rows = document.createElement("style"), marked = { picked: -1, hovered: -1 };
  const mark = (kind, box) => {
    marked[kind] = box;
    const row = (k) => `[data-map="${model.get("_token")}"] [data-box="${k}"]`;
    const cells = [marked.hovered, marked.picked].flatMap((k) => [row(k), `${row(k)} ~ td`]);
    rows.textContent = `${cells} { background: var(--snhkit-marked); }`;
  };
  const choose = (e) => {
    const row = e.target.closest?.("tr")?.querySelector("[data-box]");
    if (row) send("pick", Number(row.dataset.box));
  };
  let around = null;
  const onMessage = (e) => {
    const d = e.data;
    if (e.source !== frame.contentWindow || !d || d.token !== model.get("_token")) return;
    if (d.kind === "view") view = d.value;
    if (d.kind === "hovered" || d.kind === "picked") mark(d.kind, d.value);
    if (d.kind === "picked" && d.value !== held) {
      held = d.value;
      model.set("picked", held);
      model.save_changes();
    }
    if (d.kind === "boxes" && JSON.stringify(d.value) !== shown) {
      shown = JSON.stringify(d.value);
      model.set("boxes", d.value);
      model.save_changes();
    }
    if (d.kind === "ready") {  // also after the frame is loaded again, as when a cell is moved
      ready = true;
      shown = "[]";
      held = -1;
      push.boxes();
      push.layers();
      push.cards();
      push.picked();
      if (view) send("view", view);
      else push.view();
      around = el.closest(".snhkit-open") ? null : el.closest(".snhkit-explorer");  // whose rows are its boxes
      around?.addEventListener("focusin", keepKeys);
      around?.addEventListener("click", choose);
      around?.setAttribute("data-map", model.get("_token"));
      pushTheme();
    }
  };
  const themes = new MutationObserver(() => setTimeout(pushTheme, 200));  // after the CSS of the theme was loaded
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name"] });
  window.addEventListener("message", onMessage);
  for (const name in push) model.on(`change:${name}`, push[name]);
  push.height();
  push._html();
  el.append(frame, rows);
  return () => {
    themes.disconnect();
    around?.removeEventListener("focusin", keepKeys);
    around?.removeEventListener("click", choose);
    window.removeEventListener("message", onMessage);
    for (const name in push) model.off(`change:${name}`, push[name]);
  };
}
export default { render };
