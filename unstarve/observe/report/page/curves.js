// Curves over a logarithmic or linear axis: lines, dashed lines and dots with confidence intervals, and marks as
// vertical lines. Points beyond the axes are not shown, and lines are cut off.
const GIGABYTE = 1e9;
const CURVE_UNITS = {
  number: { factor: 1, label: (value) => signed(value) },
  percent: { factor: 100, label: (value) => `${signed(value)} %` },
  gigabyte: { factor: 1 / GIGABYTE, label: (value) => `${signed(value)} GB` },
};

// A label with a minus sign instead of a hyphen.
function signed(value) {
  return value < 0 ? `−${axisFigure(-value)}` : axisFigure(value);
}

// Round steps between two values, about `count` of them.
function ticksBetween(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
  const all = [];
  for (let i = Math.ceil(low / step); i * step <= high; ++i) all.push(i * step);
  return all;
}

// Powers of ten or two within the values; between few powers of ten, their multiples by 2 and 5 too.
function powersBetween(low, high, axis, most) {
  const base = axis === "doublings" ? 2 : 10;
  const factors = base === 10 && high / low < 1000 ? [1, 2, 5] : [1];
  const all = [];
  for (let i = Math.floor(Math.log(low) / Math.log(base)); base ** i <= high * 1.0001; ++i)
    for (const factor of factors) {
      const value = factor * base ** i;
      if (value >= low * 0.9999 && value <= high * 1.0001) all.push(value);
    }
  const every = Math.ceil(all.length / most);
  return all.filter((_, i) => i % every === 0);
}

function powerLabel(value) {
  return value >= 0.001 && value < 1e6 ? axisFigure(value) : value.toExponential(0).replace("e+", "e");
}

// The ends of the y axis: those of the chart, else the least and the largest y of the lines with their intervals.
function reachOf(chart) {
  if (chart.y_from < chart.y_to) return [chart.y_from, chart.y_to];
  const values = chart.curves.filter((curve) => curve.look !== "dots")
    .flatMap((curve) => curve.points.flatMap(([, ...rest]) => rest)).filter(Number.isFinite);
  if (!values.length) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const margin = 0.05 * (high - low || Math.abs(high) || 1);
  return chart.from_zero ? [0, high + margin] : [low - margin, high + margin];
}

// Horizontal grid lines with labels to the left.
function rows(drawing, values, y, left, right, label) {
  const group = svg("g", { class: "grid" }, drawing);
  for (const value of values) {
    svg("line", { x1: left, x2: right, y1: y(value), y2: y(value) }, group);
    svg("text", { x: left - 8, y: y(value) + 4, "text-anchor": "end", class: "soft" }, drawing, label(value));
  }
}

// An area that hides what is drawn outside it, with the coordinates of the drawing.
function clippedArea(drawing, left, top, right, bottom) {
  const box = { x: left, y: top, width: right - left, height: bottom - top };
  return svg("svg", { ...box, viewBox: `${left} ${top} ${box.width} ${box.height}`, class: "area" }, drawing);
}

// Parts of a step have the colours that they have as bars.
function partColour(group, name) {
  const look = PART_LOOKS[name];
  if (look) group.style.setProperty("--stroke", look === "wait" ? "var(--wait)" : `var(--part-${look.slice(1)})`);
}

// The radius of the mark of a point. `most`: the largest area of the chart; 0: there are none.
function markRadius(curve, i, most) {
  const area = curve.areas?.[i];
  if (most > 0 && area > 0) return Math.max(3, 14 * Math.sqrt(area / most));
  return curve.look === "dots" ? 2 : 3.5;
}

// Labels of points, next to the marks. A label without room is left out: the mark has it as its title.
function drawLabels(drawing, curves, x, y, most, frame) {
  const shown = curves.flatMap((curve) => (curve.labels ?? []).map((label, i) => ({ label, i, curve }))
    .filter(({ i }) => curve.points[i].slice(0, 2).every(Number.isFinite)));
  const boxes = shown.map(({ curve, i }) => {
    const [px, py] = curve.points[i], radius = markRadius(curve, i, most);
    return [x(px) - radius, y(py) - radius, x(px) + radius, y(py) + radius];
  });
  const free = (box) => box[0] >= frame[0] && box[1] >= frame[1] && box[2] <= frame[2] && box[3] <= frame[3] &&
    boxes.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
  shown.forEach(({ label }, i) => {
    const [left, top, right, bottom] = boxes[i];
    const text = svg("text", { class: "point-name", "data-point": label }, drawing, label);
    const wide = text.getComputedTextLength(), high = 14;
    const middle = (top + bottom) / 2, centre = (left + right) / 2;
    const candidates = [[right + 4, middle - high / 2], [left - 4 - wide, middle - high / 2],
      [centre - wide / 2, top - high - 2], [centre - wide / 2, bottom + 2], [right, top - high], [right, bottom],
      [left - wide, top - high], [left - wide, bottom]];
    const box = candidates.map(([at, up]) => [at, up, at + wide, up + high]).find(free);
    if (!box) return text.remove();
    boxes.push(box);
    text.setAttribute("x", box[0]);
    text.setAttribute("y", box[1] + 11);
  });
}

function drawCurve(drawing, curve, index, x, y, inside, words, most) {
  const points = curve.points.filter((point) => point.slice(0, 2).every(Number.isFinite));
  const group = svg("g", { class: `curve k${index} ${curve.look}`, "data-curve": curve.name }, drawing);
  partColour(group, curve.name);
  if (curve.look !== "dots" && points.length)
    svg("path", { d: "M" + points.map(([px, py]) => `${x(px)} ${y(py)}`).join("L"), class: "course" }, group);
  const marked = curve.look === "dots" || (curve.look === "line" && points.length <= 40);
  for (const [i, [px, py, low, high]] of curve.points.entries()) {
    if (!Number.isFinite(px) || !Number.isFinite(py) || !inside(py)) continue;
    if (Number.isFinite(low) && Number.isFinite(high)) {
      const at = x(px);
      svg("path", { d: `M${at - 4} ${y(low)}H${at + 4}M${at} ${y(low)}V${y(high)}M${at - 4} ${y(high)}H${at + 4}`,
        class: "interval-bar" }, group);
    }
    if (!marked) continue;
    const dot = svg("circle", { cx: x(px), cy: y(py), r: markRadius(curve, i, most) }, group);
    svg("title", {}, dot, `${curve.labels?.[i] ?? curve.name}: ${words(px, py)}`);
  }
}

// A vertical line per mark; each label has a row of its own above the curves, and covers the lines of other marks.
function drawMarks(drawing, marks, x, bottom) {
  const width = drawing.viewBox.baseVal.width;
  const row = (i) => 12 + 16 * i;
  marks.forEach((mark, i) => svg("line", { x1: x(mark.x), x2: x(mark.x), y1: row(i) + 5, y2: bottom,
    class: "mark-line" }, drawing));
  marks.forEach((mark, i) => {
    const group = svg("g", { "data-mark": mark.name }, drawing);
    const text = svg("text", { y: row(i), "text-anchor": "middle", class: "mark-name" }, group, mark.name);
    fit(text, width);
    const half = text.getComputedTextLength() / 2;
    text.setAttribute("x", Math.min(Math.max(x(mark.x), half), width - half));
  });
}

function curvesLegend(box, curves) {
  const list = html("ul", "legend", box);
  curves.forEach((curve, i) => {
    const item = html("li", "", list);
    const group = svg("g", { class: `curve k${i} ${curve.look}` },
      svg("svg", { viewBox: "0 0 16 12", "aria-hidden": "true" }, item));
    partColour(group, curve.name);
    if (curve.look === "dots") svg("circle", { cx: 8, cy: 6, r: 2.5 }, group);
    else svg("path", { d: "M0 6H16", class: "course" }, group);
    item.append(curve.name);
  });
  if (curves.some((curve) => curve.points.some((point) => point.length > 2))) intervalKey(list);
}

// The entry of a legend for whiskers.
function intervalKey(list) {
  const item = html("li", "", list);
  svg("path", { d: "M5 1H11M8 1V11M5 11H11", class: "whisker" },
    svg("svg", { viewBox: "0 0 16 12", "aria-hidden": "true" }, item));
  item.append("95 % confidence interval");
}

function drawCurves(box, chart, width) {
  const linear = chart.axis === "linear";
  const abscissae = chart.curves.flatMap((curve) => curve.points.map(([px]) => px)).filter((px) => linear || px > 0);
  const reach = reachOf(chart);
  if (!abscissae.length || !reach) return box.replaceChildren();
  const narrow = width < 620;
  const left = 64;
  const right = width - 14;
  const top = 16 * chart.marks.length + 10;
  const bottom = top + (narrow ? 190 : 250);
  const unit = CURVE_UNITS[chart.unit];
  const first = chart.x_from || (linear ? 0 : Math.min(...abscissae));
  const last = chart.x_to || Math.max(...abscissae);
  const scale = linear ? (value) => value : Math.log;
  const span = scale(last) - scale(first) || 1;
  const x = (value) => left + 8 + (right - left - 16) * (scale(value) - scale(first)) / span;
  const y = (value) => bottom - (bottom - top) * (value - reach[0]) / (reach[1] - reach[0]);
  const inside = (value) => value >= reach[0] && value <= reach[1];
  const drawing = canvas(box, width, bottom + 42);
  const values = ticksBetween(reach[0] * unit.factor, reach[1] * unit.factor, narrow ? 4 : 6);
  rows(drawing, values, (value) => y(value / unit.factor), left, right, unit.label);
  const grades = linear ? ticksBetween(first, last, narrow ? 5 : 10)
    : powersBetween(first, last, chart.axis, narrow ? 6 : 12);
  const xLabel = linear ? axisFigure : powerLabel;
  grid(drawing, grades, x, top, bottom, xLabel);
  const title = svg("text", { x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle", class: "soft" }, drawing,
    chart.x_title);
  fit(title, right - left);
  const words = (px, py) => `${unit.label(Number((py * unit.factor).toPrecision(3)))} at ${xLabel(px)}`;
  const area = clippedArea(drawing, left, top - 5, right, bottom + 5);
  const most = Math.max(0, ...chart.curves.flatMap((curve) => curve.areas ?? []).filter(Number.isFinite));
  chart.curves.forEach((curve, i) => drawCurve(area, curve, i, x, y, inside, words, most));
  drawLabels(drawing, chart.curves, x, y, most, [left, top - 5, width, bottom + 5]);
  drawMarks(drawing, chart.marks, x, bottom);
  curvesLegend(box, chart.curves);
}
