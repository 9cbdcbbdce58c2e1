// One bar per applicable tuning step, starting at 0. Colour, fill and sign show the verdict. A tick marks the rate of
// the step before, measured in the same interleaved run; the whisker is the 95 % interval of the ratio, applied to that
// rate.
const SIGNS = { base: "•", final: "★", kept: "✓", reverted: "↩", undecided: "?", absent: "–" };

// Not measured: no time was left.
function absent(step) {
  return step.status !== "base" && step.pairs === 0;
}

function lookOf(step) {
  return absent(step) ? "absent" : step.status;
}

function compared(step) {
  return step.status !== "base" && step.pairs > 1;
}

function ratioText(step) {
  return compared(step) ? `× ${step.ratio.toFixed(2)}` : "";
}

// Sign, rate and ratio: in columns if there is room, else in one line at the right edge. Returns the width used.
function stepFigures(row, step, look, narrow, width, right, y) {
  const soft = { y, class: `verdict-${look}` };
  if (narrow) {
    const words = absent(step) ? step.status : `${rate(step.samples_per_s)}  ${ratioText(step)}`.trim();
    const text = svg("text", { ...soft, x: width, "text-anchor": "end" }, row, `${SIGNS[look]} ${words}`);
    return text.getComputedTextLength() + 12;
  }
  const start = width - right + 12;
  svg("text", { ...soft, x: start }, row, SIGNS[look]);
  if (absent(step)) {
    svg("text", { ...soft, x: start + 16 }, row, step.status);
  } else {
    const figure = rate(step.samples_per_s);
    svg("text", { ...soft, x: start + 72, "text-anchor": "end" }, row, figure).classList.add("strong");
    svg("text", { ...soft, x: start + 84 }, row, ratioText(step));
  }
  return right;
}

function whisker(group, x, y, step) {
  const before = step.samples_per_s / step.ratio;
  if (step.low === null || step.high === null) return;
  const low = x(before * step.low);
  const high = x(before * step.high);
  const path = `M${low} ${y - 4}V${y + 4}M${low} ${y}H${high}M${high} ${y - 4}V${y + 4}`;
  svg("path", { d: path, class: "whisker-halo" }, group);
  svg("path", { d: path, class: "whisker" }, group);
}

function hatch(drawing, id) {
  const pattern = svg("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" }, svg("defs", {}, drawing));
  svg("rect", { width: 6, height: 6, class: "hatch-paper" }, pattern);
  svg("line", { x1: 0, x2: 0, y1: 0, y2: 6, class: "hatch-reverted" }, pattern);
}

function ladderLegend(box, steps, hatchId) {
  const list = html("ul", "legend", box);
  for (const look of ["base", "kept", "reverted", "undecided", "final"]) {
    if (!steps.some((step) => lookOf(step) === look)) continue;
    const item = html("li", "", list);
    const key = svg("svg", { viewBox: "0 0 16 12", "aria-hidden": "true" }, item);
    const bar = svg("rect", { x: 1, y: 1, width: 14, height: 10, rx: 2, class: `bar ${look}` }, key);
    if (look === "reverted") bar.setAttribute("fill", `url(#${hatchId})`);
    item.append(`${SIGNS[look]} ${look === "base" ? "plain settings" : look}`);
  }
  if (!steps.some(compared)) return;
  const tick = html("li", "", list);
  svg("line", { x1: 8, x2: 8, y1: 0, y2: 12, class: "before" },
    svg("svg", { viewBox: "0 0 16 12", "aria-hidden": "true" }, tick));
  tick.append("step before, measured in the same run");
  const interval = html("li", "", list);
  svg("path", { d: "M1 2V10M1 6H15M15 2V10", class: "whisker" },
    svg("svg", { viewBox: "0 0 16 12", "aria-hidden": "true" }, interval));
  interval.append("95 % confidence interval");
}

function drawLadder(box, section, width, index) {
  const steps = section.ledger.rungs.filter((step) => step.status !== "not applicable");
  const narrow = width < 620;
  const pitch = narrow ? 48 : 32;
  const left = narrow ? 0 : Math.min(250, width * 0.27);
  const right = narrow ? 8 : 142;
  const top = 4;
  const bottom = top + steps.length * pitch;
  const reach = Math.max(...steps.map((step) => absent(step) ? 0
    : Math.max(step.samples_per_s, (step.high ?? 0) * step.samples_per_s / step.ratio)), 1e-9);
  const span = width - left - right - 1;
  const x = (value) => left + 0.5 + span * Math.min(1, value / reach);
  const drawing = canvas(box, width, bottom + 24);
  const hatchId = `hatch-${index}`;
  hatch(drawing, hatchId);
  grid(drawing, ticks(reach, narrow ? 4 : 7), x, top, bottom, axisFigure);

  steps.forEach((step, i) => {
    const look = lookOf(step);
    const row = svg("g", { "data-status": look }, drawing);
    const y = top + i * pitch + (narrow ? 33 : pitch / 2);
    const text = y - (narrow ? 16 : -4.5);
    const figure = look === "absent" ? "" : `${rate(step.samples_per_s)} samples/s ${ratioText(step)}, `;
    svg("title", {}, row, `${step.name}: ${figure}${step.status}`);
    const taken = stepFigures(row, step, look, narrow, width, right, text);
    const name = svg("text", { x: narrow ? 0 : left - 12, y: text, "text-anchor": narrow ? "start" : "end",
      class: look === "absent" ? "soft" : "" }, row, step.name);
    fit(name, narrow ? width - taken : left - 14);
    if (look === "absent") {
      svg("line", { x1: x(0), x2: x(0) + 36, y1: y, y2: y, class: "stub absent" }, row);
      return;
    }
    const bar = svg("rect", { x: x(0), y: y - 8, width: Math.max(1, x(step.samples_per_s) - x(0)), height: 16, rx: 2,
      class: `bar ${look}` }, row);
    if (look === "reverted") bar.setAttribute("fill", `url(#${hatchId})`);
    if (!compared(step)) return;
    const before = x(step.samples_per_s / step.ratio);
    svg("line", { x1: before, x2: before, y1: y - 12, y2: y + 12, class: "before" }, row);
    whisker(row, x, y, step);
  });
  ladderLegend(box, steps, hatchId);
}
