// Horizontal bars of one or several parts, with confidence intervals and a vertical mark.
// Parts of a step have the same colours in all charts; other names use the remaining ones.
const PART_LOOKS = { kernel: "c2", copy: "c1", memset: "c5", communication: "c7", runtime: "c4", loader: "wait",
  operator: "c3", other: "c6", "wait for data": "wait", "wait for the other accelerators": "c7" };
// States of threads.
const STATE_LOOKS = { step: "step", "on a CPU": "c2", "waits for a CPU": "wait", "waits for a thread": "c5",
  "waits for a file": "c1", "waits for a pipe": "c3", "waits for the network": "c4", "waits for events": "c7",
  sleeps: "c6", waits: "rest" };
const BAR_LOOKS = { ...STEP_LOOKS, ...STAGE_LOOKS, ...PART_LOOKS, ...STATE_LOOKS };

function barLooks(bars) {
  const names = new Set(bars.flatMap((bar) => bar.parts.map((part) => part[0])));
  const looks = new Map();
  let next = 0;
  const free = ["c5", "c7", "c6", "c4"].filter((look) => ![...names].some((name) => BAR_LOOKS[name] === look));
  for (const name of names) looks.set(name, name ? BAR_LOOKS[name] ?? free[next++] ?? "c6" : "c2");
  return looks;
}

function barLegend(box, looks, chart, cut) {
  const list = html("ul", "legend", box);
  for (const [name, look] of looks) {
    if (!name) continue;
    const item = html("li", "", list);
    html("span", `key ${look}`, item);
    item.append(name);
  }
  if (chart.bars.some((bar) => bar.low < bar.high)) intervalKey(list);
  if (cut) html("li", "", list).append("a bar with a slanted gap continues beyond the axis");
}

function drawBars(box, chart, width) {
  const bars = chart.bars.map((bar) => ({ ...bar, parts: bar.parts.filter((part) => Number.isFinite(part[1])) }));
  if (!bars.length) return box.replaceChildren();
  const total = (bar) => bar.parts.reduce((sum, part) => sum + part[1], 0);
  const looks = barLooks(bars);
  const narrow = width < 620;
  const many = bars.length > 8;
  const high = many ? 18 : 26;
  const pitch = high + (narrow ? 26 : many ? 6 : 12);
  const top = chart.mark_name ? 20 : 4;
  const bottom = top + bars.length * pitch;
  const drawing = canvas(box, width, bottom + 26);
  // Names and figures are as wide as needed, within limits.
  const column = (texts, most) => Math.min(most, 16 + Math.max(...texts.map((text) => {
    const probe = svg("text", { y: -20, class: "strong" }, drawing, text);
    const wide = probe.getComputedTextLength();
    probe.remove();
    return wide;
  })));
  const left = narrow ? 0 : column(bars.map((bar) => bar.name), 0.3 * width);
  const right = narrow ? 8 : column(bars.map((bar) => bar.figure), 0.3 * width);
  const longest = Math.max(...bars.map((bar) => Math.max(total(bar), bar.low < bar.high ? bar.high : 0)),
    chart.mark_name ? 1.05 * chart.mark : 0, 1e-12);
  const reach = chart.end > 0 ? Math.min(chart.end, longest) : longest;
  const x = (value) => left + 0.5 + (width - left - right - 1) * Math.min(1, value / reach);
  grid(drawing, ticks(reach, narrow ? 4 : 7), x, top, bottom, (value) => value ? axisFigure(value) : `0 ${chart.unit}`);
  bars.forEach((bar, i) => {
    const y = top + i * pitch + (narrow ? 22 : (pitch - high) / 2);
    const row = svg("g", { "data-bar": bar.name }, drawing);
    const anchor = narrow ? { x: 0, y: y - 6 } : { x: left - 12, y: y + high / 2 + 4.5, "text-anchor": "end" };
    const name = svg("text", anchor, row, bar.name);
    fit(name, narrow ? 0.6 * width : left - 12);
    const figure = svg("text", narrow ? { x: width, y: y - 6, "text-anchor": "end", class: "strong" }
      : { x: width - right + 8, y: y + high / 2 + 4.5, class: "strong" }, row, bar.figure);
    fit(figure, narrow ? 0.38 * width : right - 8);
    let start = 0;
    for (const [part, look] of looks) {
      const value = bar.parts.find((one) => one[0] === part)?.[1] ?? 0;
      if (!(value > 0)) continue;
      const from = x(start);
      const wide = x(start + value) - from;
      const group = svg("g", {}, row);
      const share = `${(100 * value / total(bar)).toFixed(0)} %`;
      svg("title", {}, group, part ? `${part}: ${rate(value)} ${chart.unit}, ${share}` : `${bar.name}: ${bar.figure}`);
      svg("rect", { x: from, y, width: wide, height: high, class: `segment ${look}` }, group);
      start += value;
      if (!part) continue;
      const label = svg("text", { x: from + wide / 2, y: y + high / 2 + 4.5, "text-anchor": "middle",
        class: LIGHT_ON.has(look) || look === "c7" ? "on-bar light" : "on-bar" }, group, `${part} ${share}`);
      if (label.getComputedTextLength() > wide - 10) label.textContent = share;
      if (label.getComputedTextLength() > wide - 6) label.remove();
    }
    if (total(bar) > reach) {
      const at = x(reach) - 18;
      svg("path", { d: `M${at} ${y + high}l6 ${-high}m4 0l-6 ${high}`, class: "cut" }, row);
      return;
    }
    if (!(bar.low < bar.high)) return;
    const [low, end, at] = [x(bar.low), x(bar.high), y + high / 2];
    const path = `M${low} ${at - 4}V${at + 4}M${low} ${at}H${end}M${end} ${at - 4}V${at + 4}`;
    svg("path", { d: path, class: "whisker-halo" }, row);
    svg("path", { d: path, class: "whisker" }, row);
  });
  if (chart.mark_name) drawMarks(drawing, [{ name: chart.mark_name, x: chart.mark }], x, bottom);
  barLegend(box, looks, chart, bars.some((bar) => total(bar) > reach));
}
