// Draws all charts, and redraws them when the width, the colour scheme or the medium changes.
const CHARTS = { ladder: drawLadder, step: drawStep, stages: drawStages, utilisation: drawUtilisation,
  bars: drawBars, curves: drawCurves, timelines: drawTimeline, flames: drawFlame };
const figures = JSON.parse(document.getElementById("figures").textContent);
const boxes = [...document.querySelectorAll(".plot")];
const widths = new WeakMap();

function draw(box, width) {
  widths.set(box, width);
  const parts = figures[box.dataset.chart] ?? figures.sections;
  CHARTS[box.dataset.chart](box, parts[Number(box.dataset.section)], width, box.dataset.section);
}

function drawAll(width) {
  for (const box of boxes) draw(box, width ?? Math.floor(box.clientWidth));
}

const observer = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const width = Math.floor(contentRect.width);
    if (width > 0 && widths.get(target) !== width) draw(target, width);
  }
});
for (const box of boxes) observer.observe(box);

const dark = matchMedia("(prefers-color-scheme: dark)");
dark.addEventListener("change", () => drawAll());

// For printing: light colours, the width of a page, and all details open.
addEventListener("beforeprint", () => {
  document.documentElement.classList.add("printing");
  for (const part of document.querySelectorAll("details")) part.open = true;
  drawAll(660);
});
addEventListener("afterprint", () => {
  document.documentElement.classList.remove("printing");
  drawAll();
});
