// Utilisation over time, drawn by uPlot on a canvas: colours are read from the page, and a change requires a redraw.
const plots = new WeakMap();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function drawUtilisation(box, section, width) {
  plots.get(box)?.destroy();
  box.replaceChildren();
  const runs = [["before", section.before, "--reverted", [6, 4]], ["after", section.after, "--kept", []]]
    .filter(([, profile]) => profile && profile.utilisation.length);
  if (!runs.length) return;
  // The runs have different sample times: they are joined on time, and the gaps within each run are bridged.
  const data = uPlot.join(runs.map(([, profile]) => [profile.utilisation.map((point) => point.seconds),
    profile.utilisation.map((point) => 100 * point.utilisation)]));
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis = { stroke: colour("--muted"), font, grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false } };
  const plot = new uPlot({
    width,
    height: width < 620 ? 180 : 220,
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range: [0, 100] } },
    axes: [
      { ...axis, size: 30, values: (_, all) => all.map((value) => `${value} s`) },
      { ...axis, size: 46, values: (_, all) => all.map((value) => `${value} %`) },
    ],
    series: [{}, ...runs.map(([label, , name, dash]) => ({ label, stroke: colour(name), width: 2, dash, spanGaps: true,
      points: { show: false } }))],
  }, data, box);
  plots.set(box, plot);

  const list = html("ul", "legend", box);
  for (const [label] of runs) {
    const item = html("li", "", list);
    html("span", label === "before" ? "key line before-line" : "key line", item);
    item.append(label);
  }
}
