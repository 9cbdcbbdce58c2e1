// Stacked bars of the time per part, one for the run before and one for the run after. Times are per sample, so that
// runs with different batch sizes are comparable.
// Known names have the same colour and position in all charts; other names use the remaining colours.
const STEP_LOOKS = { wait: "wait", copy: "c1", compute: "c2", forward: "c2", backward: "c3", optimiser: "c4" };
const STAGE_LOOKS = { read: "c1", decode: "c2", augment: "c3", store: "c4" };
const LIGHT_ON = new Set(["wait", "c2", "c4"]);

function stepParts(profile) {
  if (!profile || !profile.samples || !profile.batches) return null;
  const perSample = profile.batches / profile.samples;
  return profile.step.map((part) => ({ name: part.name, value: part.mean_ms * perSample }));
}

function stageParts(profile) {
  if (!profile) return null;
  // Waiting is not shown: the time spent waiting for a free slot would dominate the chart.
  const stages = profile.stages.filter((stage) => stage.samples > 0 && stage.name !== "wait");
  return stages.map((stage) => ({ name: stage.name, value: stage.busy_ns / stage.samples / 1e6 }));
}

// One CSS class per name, the same in both bars; known names come first.
function classesOf(bars, looks) {
  const names = new Set(bars.flatMap((bar) => bar.parts.map((part) => part.name)));
  const classes = new Map();
  for (const name of Object.keys(looks)) if (names.delete(name)) classes.set(name, looks[name]);
  let next = 5;
  for (const name of names) classes.set(name, `c${Math.min(next++, 6)}`);
  return classes;
}

function drawSplit(box, width, sides, looks) {
  const bars = sides.filter((side) => side.parts && side.parts.length)
    .map((side) => ({ ...side, total: side.parts.reduce((sum, part) => sum + part.value, 0) }));
  if (!bars.length) return box.replaceChildren();
  const classes = classesOf(bars, looks);
  const narrow = width < 620;
  const pitch = narrow ? 58 : 42;
  const left = narrow ? 0 : 64;
  const right = narrow ? 8 : 96;
  const bottom = 4 + bars.length * pitch;
  const micro = Math.max(...bars.map((bar) => bar.total)) < 1;
  const factor = micro ? 1000 : 1;
  const unit = micro ? "µs" : "ms";
  const reach = Math.max(...bars.map((bar) => bar.total), 1e-9);
  const x = (value) => left + 0.5 + (width - left - right - 1) * Math.min(1, value / reach);
  const drawing = canvas(box, width, bottom + 24);
  grid(drawing, ticks(reach * factor, narrow ? 4 : 7), (v) => x(v / factor), 4, bottom,
    (v) => v ? axisFigure(v) : `0 ${unit}`);

  bars.forEach((bar, i) => {
    const y = 4 + i * pitch + (narrow ? 24 : 7);
    const total = `${rate(bar.total * factor)} ${unit}`;
    if (narrow) {
      svg("text", { x: 0, y: y - 7 }, drawing, bar.name);
      svg("text", { x: width, y: y - 7, "text-anchor": "end", class: "strong" }, drawing, total);
    } else {
      svg("text", { x: left - 12, y: y + 19, "text-anchor": "end" }, drawing, bar.name);
      svg("text", { x: x(bar.total) + 8, y: y + 19, class: "strong" }, drawing, total);
    }
    let start = 0;
    for (const name of classes.keys()) {
      const part = bar.parts.find((candidate) => candidate.name === name);
      if (!part || part.value <= 0) continue;
      const from = x(start);
      const wide = x(start + part.value) - from;
      const look = classes.get(name);
      const share = `${(100 * part.value / bar.total).toFixed(0)} %`;
      const group = svg("g", {}, drawing);
      svg("title", {}, group, `${name}: ${rate(part.value * factor)} ${unit}, ${share}`);
      svg("rect", { x: from, y, width: wide, height: 28, class: `segment ${look}` }, group);
      const full = `${name} ${share}`;
      const label = svg("text", { x: from + wide / 2, y: y + 18.5, "text-anchor": "middle",
        class: LIGHT_ON.has(look) ? "on-bar light" : "on-bar" }, group, full);
      if (label.getComputedTextLength() > wide - 10) label.textContent = share;
      if (label.getComputedTextLength() > wide - 6) label.remove();
      start += part.value;
    }
  });
  const list = html("ul", "legend", box);
  for (const [name, look] of classes) {
    const item = html("li", "", list);
    html("span", `key ${look}`, item);
    item.append(name);
  }
}

function drawStep(box, section, width) {
  drawSplit(box, width, [{ name: "before", parts: stepParts(section.before) },
    { name: "after", parts: stepParts(section.after) }], STEP_LOOKS);
}

function drawStages(box, section, width) {
  drawSplit(box, width, [{ name: "before", parts: stageParts(section.before) },
    { name: "after", parts: stageParts(section.after) }], STAGE_LOOKS);
}
