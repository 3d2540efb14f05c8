// A native slider, which keyboards, touch screens and screen readers can use.
function render({ model, el }) {
  const label = document.createElement("label"), range = document.createElement("input");
  const number = document.createElement("output");
  Object.assign(range, { type: "range", min: 0, step: 1 });
  label.append("Epsilon ε", range, number);
  label.className = "snhkit-epsilon";
  el.append(label);
  const show = () => {
    const options = model.get("options"), value = model.get("value");
    range.max = options.length - 1;
    range.value = options.indexOf(value);
    range.setAttribute("aria-valuetext", String(value));
    number.textContent = String(value);
  };
  range.addEventListener("input", () => {
    model.set("value", model.get("options")[Number(range.value)]);
    model.save_changes();
    show();
  });
  model.on("change:value", show);
  model.on("change:options", show);
  show();
}
export default { render };
