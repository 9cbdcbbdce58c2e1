// Creates SVG and HTML elements. Text is set as textContent only, so that no name can become markup.
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

// The drawing is hidden from screen readers: its container has a label, and the table has the figures.
function canvas(box, width, height) {
  box.replaceChildren();
  return svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, box);
}

// Formats a rate as in the tables: three digits or the whole integer part, with a thousands separator.
function rate(value) {
  if (!Number.isFinite(value)) return "-";
  if (value < 0.9995) return value.toFixed(3);
  if (value < 9.995) return value.toFixed(2);
  if (value < 99.95) return value.toFixed(1);
  return value.toFixed(0).replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

// Formats an axis label without trailing digits.
function axisFigure(value) {
  const digits = String(Number(value.toPrecision(6)));
  return value < 1000 ? digits : digits.replace(/\B(?=(\d{3})+$)/g, "\u2009");
}

// Round steps (1, 2 or 5 times a power of ten) from 0 up to `top`, about `count` of them.
function ticks(top, count) {
  const raw = top / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw) * power;
  const all = [];
  for (let i = 0; i * step <= top; ++i) all.push(i * step);
  return all;
}

// Vertical grid lines with labels below; labels are shifted to stay inside the drawing.
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

// Cuts the text of the element to `width` rendered pixels.
function fit(element, width) {
  const whole = element.textContent;
  let end = whole.length;
  while (end > 1 && element.getComputedTextLength() > width) {
    end -= 1;
    element.textContent = whole.slice(0, end).trimEnd() + "…";
  }
}
