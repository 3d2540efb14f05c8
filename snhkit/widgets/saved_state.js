// Keeps the state of the app in the browser, so that a page that is loaded again can go on.
const PLACE = "snhkit-explorer";

function render({ model }) {
  const write = () => {
    const state = model.get("state");
    try {
      if (state) localStorage.setItem(PLACE, state);
      else localStorage.removeItem(PLACE);
    } catch { /* a browser that keeps nothing: the app works without it */ }
  };
  model.on("change:state", write);
  let stored = "";
  try {
    stored = localStorage.getItem(PLACE) ?? "";
  } catch { /* as above */ }
  if (stored && !model.get("state")) {
    model.set("stored", stored);
    model.save_changes();
  }
  return () => model.off("change:state", write);
}
export default { render };
