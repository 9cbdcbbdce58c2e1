// Flame graph: nested bars, the callers above. A click or the Enter key shows a bar over the whole width; the Escape
// key, or a click on the first bar, goes back. Arrow keys move between bars.
const FLAME_ROW = 20;
const FLAME_LOOKS = 6;

// Looks are those of packages or files, so that colours are the same in every graph.
function flameLook(node) {
  const path = node[1].replace(/:\d*$/, "").replace(/.*\/lib\/python3[^/]*\//, "").split("/");
  const file = path[path[0] ? 0 : path.length - 1];
  let sum = 0;
  for (const letter of file) sum = (sum * 31 + letter.charCodeAt(0)) % 997;
  return file ? `f${1 + sum % FLAME_LOOKS}` : "f0";
}

// Gives every node its caller and depth.
function flameList(node, caller, depth, list) {
  const entry = { node, caller, depth, callees: [] };
  list.push(entry);
  for (const child of node[3]) entry.callees.push(flameList(child, entry, depth + 1, list));
  return entry;
}

function flameText(entry) {
  const [name, detail, share] = entry.node;
  return `${name}${detail ? ` (${detail})` : ""}: ${(100 * share).toFixed(1)} % of the time`;
}

function layOutFlames(entry, from, to, row, boxes) {
  boxes.set(entry, { from, to, row });
  let at = from;
  for (const callee of entry.callees) {
    const wide = (to - from) * callee.node[2] / entry.node[2];
    layOutFlames(callee, at, at + wide, row + 1, boxes);
    at += wide;
  }
}

// The focused entry of each box, so that a redraw keeps zoom and focus.
const flameStates = new WeakMap();

function drawFlame(box, graph, width) {
  let state = flameStates.get(box);
  if (!state) {
    const list = [];
    flameList(graph.root, null, 0, list);
    state = { list, top: list[0], focus: list[0] };
    flameStates.set(box, state);
    box.addEventListener("keydown", (event) => flameKey(box, event));
  }
  const boxes = new Map();
  let row = 0;
  const callers = [];
  for (let entry = state.top.caller; entry; entry = entry.caller) callers.unshift(entry);
  for (const entry of callers) boxes.set(entry, { from: 0, to: width, row: row++ });
  layOutFlames(state.top, 0, width, row, boxes);
  const shown = [...boxes].filter(([, area]) => area.to - area.from >= 1.5);
  const rows = 1 + Math.max(...shown.map(([, area]) => area.row));
  box.replaceChildren();
  box.setAttribute("role", "tree");
  const drawing = svg("svg", { width, height: rows * FLAME_ROW, viewBox: `0 0 ${width} ${rows * FLAME_ROW}` }, box);
  if (!boxes.has(state.focus) || !shown.some(([entry]) => entry === state.focus)) state.focus = state.top;
  for (const [entry, { from, to, row: at }] of shown) {
    const group = svg("g", { class: `flame ${flameLook(entry.node)}`, tabindex: entry === state.focus ? 0 : -1,
      role: "treeitem", "aria-label": flameText(entry), "aria-level": entry.depth + 1 }, drawing);
    svg("title", {}, group, flameText(entry));
    svg("rect", { x: from, y: at * FLAME_ROW, width: to - from, height: FLAME_ROW - 1 }, group);
    if (to - from > 40) {
      const label = svg("text", { x: from + 5, y: at * FLAME_ROW + 14 }, group, entry.node[0]);
      fit(label, to - from - 10);
    }
    group.addEventListener("click", () => zoomFlame(box, graph, entry));
    entry.group = group;
  }
  state.graph = graph;
  state.shown = shown;
}

function zoomFlame(box, graph, entry) {
  const state = flameStates.get(box);
  state.top = entry === state.top && entry.caller ? entry.caller : entry;
  state.focus = entry;
  drawFlame(box, graph, Math.floor(box.clientWidth));
  state.focus.group.focus();
}

function flameKey(box, event) {
  const state = flameStates.get(box);
  const { focus } = state;
  const row = (entry) => state.shown.find(([one]) => one === entry)?.[1];
  const neighbour = (step) => {
    const here = row(focus);
    const others = state.shown.filter(([, area]) => area.row === here.row).sort((a, b) => a[1].from - b[1].from);
    return others[others.findIndex(([entry]) => entry === focus) + step]?.[0];
  };
  const moves = {
    ArrowUp: () => focus.caller,
    ArrowDown: () => focus.callees.filter((entry) => row(entry)).sort((a, b) => b.node[2] - a.node[2])[0],
    ArrowLeft: () => neighbour(-1),
    ArrowRight: () => neighbour(1),
    Home: () => state.list[0],
  };
  if (event.key === "Enter" || event.key === " ") zoomFlame(box, state.graph, focus);
  else if (event.key === "Escape") zoomFlame(box, state.graph, state.top.caller ?? state.top);
  else if (moves[event.key]) {
    const next = moves[event.key]();
    if (next?.group && row(next)) {
      focus.group.setAttribute("tabindex", -1);
      state.focus = next;
      next.group.setAttribute("tabindex", 0);
      next.group.focus();
    }
  } else return;
  event.preventDefault();
}
