// The slider of the explorer; needs frames.js of the public page, whose slider works alike.
function render({ model, el }) {
  let stop = () => {};
  const make = () => {
    stop();
    el.replaceChildren();
    const labels = model.get("labels"), name = model.get("name");
    if (!labels.length) return;
    const add = (kind, fields) => el.appendChild(Object.assign(document.createElement(kind), fields));
    const play = add("button", { type: "button", textContent: "Play" });
    const slider = add("input", { type: "range", min: 0, max: labels.length - 1 });
    const label = add("output", {});
    slider.value = model.get("value");
    slider.setAttribute("aria-label", name);
    stop = snhkitFrames({ slider, label, play }, labels.map((each, k) => (k ? `${name} ${each}` : each)), (number) => {
      model.set("value", number);
      model.save_changes();
    }, 1);
  };
  el.classList.add("snhkit-frames");
  model.on("change:labels", make);
  make();
  return () => {
    stop();
    model.off("change:labels", make);
  };
}
export default { render };
