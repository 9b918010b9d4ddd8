// Draws the views in #data. Whatever comes from a sentence or a lexicon is set as text, never as markup.
"use strict";

const byId = (id) => document.getElementById(id);

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

let repaints = [];  // what an image does when the colours change
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaints.forEach((paint) => paint()));

const percent = (weight) => (100 * weight).toFixed(0);

function weighted(element, weight) {
  element.style.setProperty("--w", weight.toFixed(4));
  return element;
}

function draw(views, chosen = 0) {
  const view = views[chosen];
  repaints = [];
  const detail = make("section", { class: "detail", "aria-live": "polite", "aria-label": "The chosen word" });
  const sentences = make("div", {});
  const buttons = view.words.map((word) => wordButton(word));
  const select = selection(view, buttons, detail);
  buttons.forEach((button, index) => {
    button.addEventListener("mouseenter", () => select.show(index));
    button.addEventListener("focus", () => select.show(index));
    button.addEventListener("mouseleave", () => select.rest());
    button.addEventListener("blur", () => select.rest());
    button.addEventListener("click", () => select.pin(index));
  });
  view.texts.forEach((text, side) => sentences.append(...sentence(view, text, side, buttons)));
  const top = make("div", { class: "top" });
  if (view.probability !== null) top.append(match(view.probability));
  if (view.warning !== null) top.append(make("p", { class: "warning" }, view.warning));
  if (views.length > 1) top.append(segmenterSwitch(views, chosen));
  top.append(key(view));
  const content = [top, make("div", { class: "columns" }, sentences, detail)];
  if (view.cross) content.push(...heatMaps(view));
  byId("view").replaceChildren(...content);
  select.rest();
  document.onkeydown = (event) => {  // a handler that returned false would keep every other key from its use
    if (event.key === "Escape") select.pin(null);
  };
}

function match(probability) {
  const number = make("strong", {}, probability.toFixed(3));
  const meter = make("meter", { min: 0, max: 1, value: probability, "aria-hidden": "true" });
  return make("p", { class: "match" }, "Same meaning:", number, meter);
}

function segmenterSwitch(views, chosen) {
  const options = views.map((view, index) => {
    const radio = make("input", { type: "radio", name: "segmenter", value: index, checked: index === chosen });
    radio.addEventListener("change", () => {
      draw(views, index);
      document.querySelector(`input[name=segmenter][value="${index}"]`).focus();
    });
    return make("label", {}, radio, " " + view.name);
  });
  return make("fieldset", {}, make("legend", {}, "Words by"), ...options);
}

function key(view) {
  const items = view.segmenters.map((name) => make("li", {}, make("i", { class: name }), name));
  return make("ul", { class: "key", "aria-label": "Colours of the segmenters" }, ...items);
}

function wordButton(word) {
  const count = word.senses.length;
  const name = make("b", { lang: "zh" }, word.text);
  if (count) name.append(make("sub", {}, ` ${count}`));
  const says = `${word.text}, characters ${word.start + 1} to ${word.end}, ${count} sense${count === 1 ? "" : "s"}, `
    + `cut by ${word.segmenters.join(", ")}`;
  const stripes = make("span", {}, ...word.segmenters.map((segmenter) => make("i", { class: segmenter })));
  return make("button", {
    type: "button", class: count ? "word" : "word none", "aria-label": says, "aria-pressed": "false",
  }, name, stripes);
}

// Short words lie next to the characters; each word in the first row that is free over its characters.
function rows(words) {
  const order = [...words.keys()].sort((i, j) =>
    words[i].end - words[i].start - (words[j].end - words[j].start) || words[i].start - words[j].start);
  const taken = [];
  const row = [];
  for (const index of order) {
    const { start, end } = words[index];
    let lane = taken.findIndex((spans) => spans.every((other) => other.end <= start || other.start >= end));
    if (lane < 0) lane = taken.push([]) - 1;
    taken[lane].push(words[index]);
    row[index] = lane;
  }
  return { row, count: taken.length };
}

// A sentence is wrapped between its stretches, which no word crosses.
function sentence(view, text, side, buttons) {
  const chars = Array.from(text);
  const indices = [...view.words.keys()].filter((index) => view.words[index].side === side);
  const parts = view.stretches[side].map(([start, end]) => {
    const inside = indices.filter((index) => view.words[index].start >= start && view.words[index].end <= end);
    const { row, count } = rows(inside.map((index) => view.words[index]));
    const grid = make("div", { class: "stretch" });
    grid.style.gridTemplateColumns = `repeat(${end - start}, var(--cell))`;
    inside.forEach((index, place) => {
      const word = view.words[index];
      buttons[index].style.gridColumn = `${word.start - start + 1} / ${word.end - start + 1}`;
      buttons[index].style.gridRow = count - row[place];
      grid.append(buttons[index]);
    });
    chars.slice(start, end).forEach((char, place) => {
      const cell = make("div", { class: "char", lang: "zh", "aria-hidden": "true" }, char);
      cell.style.gridColumn = place + 1;
      cell.style.gridRow = count + 1;
      grid.append(cell);
    });
    return grid;
  });
  const group = { class: "lattice", role: "group", "aria-label": `Words of sentence ${"ab"[side]}: ${text}` };
  return [make("h2", {}, `Sentence ${"ab"[side]}`), make("div", group, ...parts)];
}

function selection(view, buttons, detail) {
  let pinned = null;
  function show(index) {
    const word = index === null ? null : view.words[index];
    buttons.forEach((button, other) => {
      const ahead = word !== null && word.ahead.includes(other);
      const behind = word !== null && word.behind.includes(other);
      const same = word !== null && view.words[other].side === word.side;
      button.classList.toggle("own", other === index);
      button.classList.toggle("ahead", ahead);
      button.classList.toggle("behind", behind);
      button.classList.toggle("off", same && !ahead && !behind && other !== index);
      button.setAttribute("aria-pressed", String(other === pinned));
    });
    detail.replaceChildren(...(word === null ? hint() : describe(view, word)));
  }
  return {
    show,
    rest: () => show(pinned),
    pin(index) {
      pinned = index === pinned ? null : index;
      show(pinned);
    },
  };
}

const hint = () => [make("p", { class: "faint" },
  "Point at a word, or choose one (Tab and Enter), to see its senses and the words that it reaches. Escape lets go.")];

function describe(view, word) {
  const reach = (indices) => indices.map((index) => view.words[index].text).join(" ") || "none";
  const parts = [
    make("h3", { lang: "zh" }, word.text),
    make("p", { class: "faint" }, `cut by ${word.segmenters.join(", ")}`),
    make("p", {}, "▌ behind: ", make("span", { lang: "zh" }, reach(word.behind))),
    make("p", {}, "▐ ahead: ", make("span", { lang: "zh" }, reach(word.ahead))),
  ];
  if (!word.senses.length) return [...parts, make("p", {}, "No sense in the lexicon.")];
  const layers = word.senses[0].weights.map((_, layer) => make("th", { scope: "col" }, `layer ${layer + 1}`));
  const head = make("tr", {}, make("th", { scope: "col" }, "#"), make("th", { scope: "col" }, "sememes"), ...layers);
  const body = word.senses.map((sense) => {
    const sememes = make("td", {}, make("span", { lang: "zh" }, sense.sememes));
    if (sense.english) sememes.append(make("small", {}, sense.english));
    const bars = sense.weights.map((weight) =>
      make("td", {}, `${percent(weight)} %`, make("span", { class: "bar" }, weighted(make("i"), weight))));
    return make("tr", {}, make("td", {}, String(sense.number)), sememes, ...bars);
  });
  return [...parts, make("table", { class: "senses" }, make("thead", {}, head), make("tbody", {}, ...body))];
}

const MOST_CELLS = 1600;  // of a map that is a table; a larger one is an image

function heatMaps(view) {
  const maps = [0, 1].map((side) => {
    const map = {
      own: Array.from(view.texts[side]), other: Array.from(view.texts[1 - side]),
      weight: (i, j) => view.cross[side][i][j] / 10000,
      matched: view.matched.map(([a, b]) => side ? [b, a] : [a, b]),
      name: side ? "b reads a" : "a reads b",
    };
    return map.own.length * map.other.length > MOST_CELLS ? imageMap(map) : tableMap(map);
  });
  return [
    make("h2", {}, "What each character (row) takes from those of the other sentence, in percent"),
    make("p", { class: "faint" }, "Framed: each of the two has the greatest weight for the other."),
    make("div", { class: "maps" }, ...maps),
  ];
}

function tableMap({ own, other, weight, matched, name }) {
  const framed = new Set(matched.map(([i, j]) => `${i} ${j}`));
  const head = make("tr", {}, make("td"), ...other.map((char) => make("th", { scope: "col", lang: "zh" }, char)));
  head.firstChild.style.setProperty("background", "none");
  const body = own.map((char, i) => make("tr", {}, make("th", { scope: "row", lang: "zh" }, char),
    ...other.map((read, j) => {
      const title = `${char} takes ${percent(weight(i, j))} % from ${read}`;
      const cell = make("td", { class: framed.has(`${i} ${j}`) && "matched", title }, percent(weight(i, j)));
      return weighted(cell, weight(i, j));
    })));
  const table = make("table", { class: "heat" }, make("caption", {}, name),
    make("thead", {}, head), make("tbody", {}, ...body));
  return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": name }, table);
}

// Tens of thousands of cells would be as many elements: they are one image, and the cell pointed at is told in words.
function imageMap({ own, other, weight, matched, name }) {
  const size = 5;
  const canvas = make("canvas", {
    width: size * other.length, height: size * own.length, tabindex: 0, role: "img",
    "aria-label": `${name}, ${own.length} rows and ${other.length} columns; arrow keys tell cell after cell`,
  });
  let greatest = 0;
  own.forEach((_, i) => other.forEach((_, j) => { greatest = Math.max(greatest, weight(i, j)); }));
  const told = make("p", { class: "told", "aria-live": "polite" }, "Point at a cell, or take the arrow keys.");
  let [row, column] = [-1, -1];

  function paint() {
    const style = getComputedStyle(document.documentElement);
    const colour = (property) => style.getPropertyValue(property);
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.globalAlpha = 1;
    pen.fillStyle = colour("--box");
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = colour("--accent");
    own.forEach((_, i) => other.forEach((_, j) => {
      pen.globalAlpha = greatest && weight(i, j) / greatest;
      pen.fillRect(size * j, size * i, size, size);
    }));
    pen.globalAlpha = 1;
    pen.strokeStyle = colour("--ink");
    matched.forEach(([i, j]) => pen.strokeRect(size * j + .5, size * i + .5, size - 1, size - 1));
  }

  let clean = null;  // the image without the cross of lines
  function tell(i, j) {
    [row, column] = [Math.min(Math.max(i, 0), own.length - 1), Math.min(Math.max(j, 0), other.length - 1)];
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    if (clean) pen.putImageData(clean, 0, 0);
    clean = pen.getImageData(0, 0, canvas.width, canvas.height);
    pen.globalAlpha = 1;
    pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--ink");
    pen.strokeRect(-1, size * row - .5, canvas.width + 2, size + 1);
    pen.strokeRect(size * column - .5, -1, size + 1, canvas.height + 2);
    const framed = matched.some(([a, b]) => a === row && b === column) ? ", framed" : "";
    told.replaceChildren(...around(own, row), ` takes ${(100 * weight(row, column)).toFixed(2)} % from `,
      ...around(other, column), framed);
  }
  for (const kind of ["pointermove", "pointerdown"]) {
    canvas.addEventListener(kind, (event) => tell(Math.floor(event.offsetY / size), Math.floor(event.offsetX / size)));
  }
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  canvas.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    tell(row < 0 ? 0 : row + step[0], column < 0 ? 0 : column + step[1]);
  });
  repaints.push(() => { clean = null; paint(); });
  paint();
  return make("div", {}, make("p", { class: "faint" }, `${name}; darkest: ${percent(greatest)} %`),
    make("div", { class: "scroll" }, canvas), told);
}

// A character among its neighbours.
function around(chars, place) {
  const [from, to] = [Math.max(place - 4, 0), place + 5];
  return [
    make("span", { lang: "zh" }, (from ? "…" : "") + chars.slice(from, place).join("")),
    make("mark", { lang: "zh" }, chars[place]),
    make("span", { lang: "zh" }, chars.slice(place + 1, to).join("") + (to < chars.length ? "…" : "")),
  ];
}

function problem(text) {
  byId("problem").textContent = text;
}

async function ask(event) {
  event.preventDefault();
  const button = event.target.querySelector("button");
  button.disabled = true;
  problem("");
  try {
    const response = await fetch("look", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ a: byId("ask-a").value, b: byId("ask-b").value }),
    });
    const answer = await response.json();
    if (response.ok) draw(answer.views);
    else problem(answer.error);
  } catch (error) {
    problem(`No answer (${error.message}). Is letgraph.serve still running?`);
  } finally {
    button.disabled = false;
  }
}

const data = JSON.parse(byId("data").textContent);
if (data.ask) {
  byId("ask").hidden = false;
  byId("ask").addEventListener("submit", ask);
}
if (data.views.length) draw(data.views);
