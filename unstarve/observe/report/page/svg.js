// SVG and HTML by hand: text only ever enters as text, so that no name can become markup.
const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, parent, text) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

function html(name, className, parent, text) {
  const element = document.createElement(name);
  element.className = className;
  if (text !== undefined) element.textContent = text;
  if (parent) parent.append(element);
  return element;
}

// The drawing itself is hidden from screen readers: its box carries a sentence, the table the figures.
function canvas(box, width, height) {
  box.replaceChildren();
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, box);
}

// Figures as in the tables: three digits or all of the integer part, thousands set apart.
function rate(value) {
  if (!Number.isFinite(value)) return "-";
  if (value < 0.9995) return value.toFixed(3);
  if (value < 9.995) return value.toFixed(2);
  if (value < 99.95) return value.toFixed(1);
  return value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

// A figure on an axis: no more digits than it has.
function axisFigure(value) {
  const digits = String(Number(value.toPrecision(6)));
  return value < 1000 ? digits : digits.replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

// Round steps (1, 2 or 5 times a power of ten) from 0 up to `top`, about `wanted` of them.
function ticks(top, wanted) {
  const raw = top / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
  const all = [];
  for (let i = 0; i * step <= top; ++i) all.push(i * step);
  return all;
}

// Vertical grid lines with their figures below, which stay inside the drawing.
function grid(drawing, values, x, top, bottom, label) {
  const group = svg("g", { class: "grid" }, drawing);
  const width = drawing.viewBox.baseVal.width;
  for (const value of values) {
    const at = x(value);
    svg("line", { x1: at, x2: at, y1: top, y2: bottom }, group);
    const text = svg("text", { x: at, y: bottom + 16, "text-anchor": "middle", class: "soft" }, drawing, label(value));
    const half = text.getComputedTextLength() / 2;
    text.setAttribute("x", Math.min(Math.max(at, half), width - half));
  }
}

// Cuts `text` in the element to `width` pixels, as it is really set.
function fit(element, width) {
  const whole = element.textContent;
  let end = whole.length;
  while (end > 1 && element.getComputedTextLength() > width) {
    end -= 1;
    element.textContent = whole.slice(0, end).trimEnd() + "…";
  }
}
