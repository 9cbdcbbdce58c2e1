// Timeline: events as bars in lanes, nested ones below each other. Drag moves it; the wheel zooms while it has the
// focus, or with Ctrl. Keys: + and - zoom, arrows move, Home shows all.
const TIMELINE_ROW = 16;
const timelineStates = new WeakMap();

// A row for each span of a lane: below all spans that contain it or have not ended.
function timelineRows(timeline) {
  const rows = [];
  const lanes = timeline.lanes.map((name) => ({ name, first: 0, depth: 1, ends: [] }));
  timeline.spans.forEach(([lane, , , begin, seconds], i) => {
    const { ends } = lanes[lane];
    let row = 0;
    while (row < ends.length && ends[row] > begin + 1e-10) ++row;
    ends[row] = begin + seconds;
    rows[i] = row;
    lanes[lane].depth = Math.max(lanes[lane].depth, row + 1);
  });
  let next = 0;
  for (const lane of lanes) {
    lane.first = next;
    next += lane.depth;
  }
  return { rows, lanes, total: next };
}

function timeText(seconds) {
  if (seconds >= 1) return `${rate(seconds)} s`;
  return seconds >= 1e-3 ? `${rate(1e3 * seconds)} ms` : `${rate(1e6 * seconds)} µs`;
}

function drawTimeline(box, timeline, width) {
  let state = timelineStates.get(box);
  if (!state) {
    state = { from: 0, to: timeline.seconds, ...timelineRows(timeline) };
    timelineStates.set(box, state);
    timelineControls(box, timeline, state);
  }
  const focused = document.activeElement === box;
  box.classList.add("timeline");
  box.tabIndex = 0;
  const narrow = width < 620;
  const left = narrow ? 0 : 150;
  const lift = narrow ? 18 : 6; // above each lane
  const y = (lane, row) => 22 + (lane.first + row) * TIMELINE_ROW + lift * (state.lanes.indexOf(lane) + 1);
  const bottom = 22 + state.total * TIMELINE_ROW + lift * state.lanes.length;
  const x = (seconds) => left + (width - left) * (seconds - state.from) / (state.to - state.from);
  Object.assign(state, { left, width });
  const drawing = canvas(box, width, bottom + 22);
  const micro = state.to - state.from < 2e-3;
  const factor = micro ? 1e6 : 1e3;
  grid(drawing, ticksBetween(state.from * factor, state.to * factor, narrow ? 4 : 8), (value) => x(value / factor), 20,
    bottom, (value) => `${axisFigure(value)} ${micro ? "µs" : "ms"}`);
  const area = clippedArea(drawing, left, 0, width, bottom);
  timeline.marks.forEach((mark, i) => {
    if (mark < state.from || mark > state.to) return;
    svg("line", { x1: x(mark), x2: x(mark), y1: 4, y2: bottom, class: "mark-line" }, area);
    svg("text", { x: x(mark) + 4, y: 13, class: "soft" }, area, `step ${i + 1}`);
  });
  for (const lane of state.lanes) {
    const at = y(lane, 0);
    const label = svg("text", narrow ? { x: 0, y: at - 5, class: "soft" }
      : { x: left - 10, y: at + 12, "text-anchor": "end" }, drawing, lane.name);
    fit(label, narrow ? width : left - 12);
  }
  timeline.spans.forEach(([lane, name, kind, begin, seconds], i) => {
    const from = Math.max(x(begin), left - 2);
    const to = Math.min(x(begin + seconds), width + 2);
    if (to < left || from > width) return;
    const at = y(state.lanes[lane], state.rows[i]);
    const look = BAR_LOOKS[timeline.kinds[kind]] ?? "c6";
    const group = svg("g", {}, area);
    svg("title", {}, group,
      `${timeline.names[name]}: ${timeText(seconds)} from ${timeText(begin)} on (${timeline.kinds[kind]})`);
    svg("rect", { x: from, y: at, width: Math.max(to - from, 0.5), height: TIMELINE_ROW - 1,
      class: `span segment ${look}` }, group);
    if (to - from < 40) return;
    const label = svg("text", { x: from + 4, y: at + 11.5,
      class: look === "rest" || look === "step" ? "on-bar ink"
        : LIGHT_ON.has(look) || look === "c7" ? "on-bar light" : "on-bar" }, group,
    timeline.names[name].slice(0, Math.ceil((to - from) / 3)));
    fit(label, to - from - 8);
  });
  const list = html("ul", "legend", box);
  for (const kind of new Set(timeline.spans.map((span) => timeline.kinds[span[2]]))) {
    const item = html("li", "", list);
    html("span", `key ${BAR_LOOKS[kind] ?? "c6"}`, item);
    item.append(kind);
  }
  html("li", "", list, "Click the chart. Zoom: wheel, + and −. Move: drag or arrow keys. Reset: Home.");
  if (focused) box.focus();
}

function timelineControls(box, timeline, state) {
  let waiting = false;
  // Shows `length` seconds from `from` on, within limits.
  const show = (from, length) => {
    const span = Math.min(Math.max(length, 1e-6), timeline.seconds);
    state.from = Math.min(Math.max(from, 0), timeline.seconds - span);
    state.to = state.from + span;
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawTimeline(box, timeline, Math.floor(box.clientWidth));
    });
  };
  const zoom = (factor, share) => {
    const length = state.to - state.from;
    const next = Math.min(Math.max(length * factor, 1e-6), timeline.seconds);
    show(state.from + share * (length - next), next);
  };
  box.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== box) return;
    event.preventDefault();
    const at = event.clientX - box.getBoundingClientRect().left - state.left;
    zoom(1.2 ** Math.sign(event.deltaY), Math.min(Math.max(at / (state.width - state.left), 0), 1));
  }, { passive: false });
  let drag = null;
  box.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, from: state.from };
    box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const length = state.to - state.from;
    show(drag.from - length * (event.clientX - drag.x) / (state.width - state.left), length);
  });
  for (const end of ["pointerup", "pointercancel"]) box.addEventListener(end, () => { drag = null; });
  box.addEventListener("keydown", (event) => {
    const length = state.to - state.from;
    const moves = { "+": () => zoom(0.5, 0.5), "=": () => zoom(0.5, 0.5), "-": () => zoom(2, 0.5),
      ArrowLeft: () => show(state.from - 0.2 * length, length),
      ArrowRight: () => show(state.from + 0.2 * length, length),
      Home: () => show(0, timeline.seconds) };
    if (!moves[event.key] || event.ctrlKey || event.metaKey) return;
    moves[event.key]();
    event.preventDefault();
  });
}
