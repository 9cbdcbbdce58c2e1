// The rates of a bench as points on a logarithmic scale (reading may be 100 times faster than the network; bars would
// be misleading on such a scale), and the joint rate as a vertical line.
const PARTS = ["storage", "loader", "copy", "network"];

function drawRates(box, section, width) {
  const figures = section.figures;
  const rows = PARTS.filter((name) => figures[name] > 0).map((name) => ({ name, value: figures[name] }));
  if (!rows.length) return box.replaceChildren();
  const values = rows.map((row) => row.value).concat(figures.together > 0 ? [figures.together] : []);
  const first = Math.floor(Math.log10(Math.min(...values) * 0.9));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values) * 1.1)));
  const narrow = width < 620;
  const left = 72;
  const right = narrow ? 62 : 96;
  const top = figures.together > 0 ? 24 : 6;
  const bottom = top + rows.length * 32;
  const x = (value) => left + (width - left - right) * (Math.log10(value) - first) / (last - first);
  const drawing = canvas(box, width, bottom + 24);
  grid(drawing, Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i)), x, top, bottom, axisFigure);

  // Storage is not compared: reading is part of the loader.
  const slowest = Math.min(...rows.filter((row) => row.name !== "storage").map((row) => row.value));
  rows.forEach((row, i) => {
    const y = top + i * 32 + 16;
    const group = svg("g", {}, drawing);
    svg("title", {}, group, `${row.name}: ${rate(row.value)} samples/s`);
    svg("text", { x: left - 12, y: y + 4.5, "text-anchor": "end" }, group, row.name);
    svg("line", { x1: left, x2: x(row.value), y1: y, y2: y, class: "stem" }, group);
    const limits = row.value === slowest && row.name !== "storage";
    if (limits) svg("rect", { x: x(row.value) - 6, y: y - 6, width: 12, height: 12, class: "dot slowest",
      transform: `rotate(45 ${x(row.value)} ${y})` }, group);
    else svg("circle", { cx: x(row.value), cy: y, r: 6, class: "dot" }, group);
    svg("text", { x: x(row.value) + 14, y: y + 4.5, class: limits ? "strong" : "" }, group, rate(row.value));
  });
  if (figures.together > 0) {
    const at = x(figures.together);
    svg("line", { x1: at, x2: at, y1: top - 4, y2: bottom, class: "together" }, drawing);
    const label = svg("text", { x: at, y: top - 9, "text-anchor": "middle", class: "together-label" }, drawing,
      `together ${rate(figures.together)}`);
    const half = label.getComputedTextLength() / 2;
    label.setAttribute("x", Math.min(Math.max(at, half), width - half));
  }
}
