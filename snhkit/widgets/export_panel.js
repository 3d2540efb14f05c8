// Buttons that ask Python for a file, which the browser saves from memory.
const FILES = [
  ["release", "Save release", "The release as a file that may be published"],
  ["page", "Page", "One HTML page of this release that may be published"],
  ["geojson", "Boxes as GeoJSON", "Boxes and their counts, for a GIS"],
  ["csv", "Boxes as CSV", "Boxes and their counts, as a table"],
  ["report", "Report", "One HTML page with counts, map, ledger and code"],
  ["code", "Copy code", "Python code that builds the same releases again"],
];

const IMPRINT = [
  ["title", "Title", "what was counted, where and when"],
  ["subject", "One record", "such as the start of a trip"],
  ["owner", "Published by", "optional"],
  ["period", "Period", "optional, such as May 2026"],
  ["contact", "Contact", "optional, whom readers may ask"],
];

function render({ model, el }) {
  const add = (tag, parent, properties) =>
    parent.appendChild(Object.assign(document.createElement(tag), properties));
  const bar = add("div", el, { className: "snhkit-exports", role: "group", ariaLabel: "Exports" });
  const choice = add("select", bar, { ariaLabel: "Release to save or to publish" });
  const buttons = {}, texts = {};
  for (const [kind, label, title] of FILES) {
    const className = kind === "page" ? "snhkit-primary" : "";
    buttons[kind] = add("button", bar, { type: "button", textContent: label, title, className });
    buttons[kind].onclick = () => {
      status.textContent = "Preparing the file …";
      code.hidden = true;
      if (kind === "page" && form.hidden) {  // a page says who publishes what
        form.hidden = false;
        texts.title.focus();
        status.textContent = "Fill in what readers should know, then press Page again.";
        return;
      }
      const imprint = Object.fromEntries(Object.entries(texts).map(([name, { value }]) => [name, value]));
      model.send({ kind, release: choice.value, imprint: kind === "page" ? imprint : null });
    };
  }
  const form = add("div", el, { className: "snhkit-imprint", hidden: true });
  for (const [name, label, hint] of IMPRINT) {
    const words = add("label", form, { textContent: label });
    texts[name] = add("input", words, { type: "text", placeholder: hint, maxLength: 300 });
  }
  const status = add("div", el, { className: "snhkit-export-status", role: "status" });
  const code = add("textarea", el, {
    className: "snhkit-export-code", readOnly: true, rows: 14, hidden: true, ariaLabel: "Code",
  });

  let first = "";  // the release in view
  const offer = () => {
    const before = choice.value, names = model.get("releases");
    choice.replaceChildren(...names.map((name) => new Option(name)));
    if (names[0] === first && names.includes(before)) choice.value = before;
    first = names[0];
    choice.disabled = buttons.release.disabled = buttons.page.disabled = !names.length;
  };
  const save = (name, mime, data) => {
    const url = URL.createObjectURL(new Blob([data], { type: mime }));
    const link = add("a", el, { href: url, download: name });
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
    status.textContent = `Saved ${name}`;
  };
  const copy = async (text) => {
    code.value = text;
    code.hidden = false;
    try {
      await navigator.clipboard.writeText(text);
      status.textContent = "Copied.";
    } catch {  // the browser refused access to the clipboard
      code.select();
      status.textContent = "The clipboard is not accessible: copy the code from here.";
    }
  };
  const hear = ({ kind, text, name, mime }, buffers) => {
    if (kind === "refusal") status.textContent = text;
    else if (kind === "code") copy(new TextDecoder().decode(buffers[0]));
    else save(name, mime, buffers[0]);
  };
  let offered = "";  // the title of the city, until a person writes another
  const entitle = () => {
    if (texts.title.value === offered) texts.title.value = model.get("title");
    offered = model.get("title");
  };
  model.on("change:releases", offer);
  model.on("change:title", entitle);
  model.on("msg:custom", hear);
  offer();
  entitle();
  return () => {
    model.off("change:releases", offer);
    model.off("change:title", entitle);
    model.off("msg:custom", hear);
  };
}
export default { render };
