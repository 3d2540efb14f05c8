// Strata, such as hours, one at a time: chosen by a native slider, or played from the first one on.
// ``shown`` is called with the number of each; the returned function stops the play.
// biome-ignore lint/correctness/noUnusedVariables: the public page and the explorer call it.
function snhkitFrames({ slider, label, play }, labels, shown, first = 0) {
  let timer = null;
  const show = () => {
    label.textContent = labels[slider.value];
    slider.setAttribute("aria-valuetext", labels[slider.value]);
    shown(Number(slider.value));
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  };
  slider.max = labels.length - 1;
  slider.addEventListener("input", () => {
    stop();
    show();
  });
  play.addEventListener("click", () => {
    if (timer !== null) return stop();
    play.textContent = "Pause";
    timer = setInterval(() => {
      const next = Number(slider.value) + 1;
      slider.value = next < labels.length ? next : first;
      show();
    }, 700);
  });
  show();
  return stop;
}
