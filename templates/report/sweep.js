"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const front = new Set(data.front);
const rows = data.rows.map(values => Object.fromEntries(values.map((value, i) => [data.columns[i], value])));
const byId = id => document.getElementById(id);
const MAX_ROWS = 500;
const SPACE = "http://www.w3.org/2000/svg";

function passes(row) {
  const most = (id, value) => byId(id).value === "" || (value !== null && value <= Number(byId(id).value));
  return (byId("board").value === "" || row.board === byId("board").value)
    && (byId("options").value === "" || row.options === byId("options").value)
    && most("ram", row.ram_bytes) && most("time", row.milliseconds_estimated)
    && (byId("score").value === "" || (row.score !== null && row.score >= Number(byId("score").value)))
    && (!byId("fits").checked || row.fits) && (!byId("front").checked || front.has(row.task));
}

function element(name, attributes, text) {
  const made = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function draw() {
  const shown = rows.filter(passes);
  const points = shown.filter(row => row.ram_bytes !== null && row.milliseconds_estimated !== null);
  const plot = byId("plot");
  plot.replaceChildren();
  const right = Math.max(...points.map(row => row.ram_bytes), 1), top = Math.max(...points.map(row => row.milliseconds_estimated), 1e-6);
  const scores = points.map(row => row.score).filter(score => score !== null);
  const low = Math.min(...scores), high = Math.max(...scores);
  const x = bytes => 70 + 800 * bytes / right, y = ms => 420 - 390 * ms / top;
  for (let i = 0; i <= 4; i++) {
    plot.append(element("line", {x1: x(right * i / 4), x2: x(right * i / 4), y1: 30, y2: 420}));
    plot.append(element("line", {x1: 70, x2: 870, y1: y(top * i / 4), y2: y(top * i / 4)}));
    plot.append(element("text", {x: x(right * i / 4), y: 436, "text-anchor": "middle"}, (right * i / 4 / 1024).toFixed(1) + " KiB"));
    plot.append(element("text", {x: 64, y: y(top * i / 4) + 4, "text-anchor": "end"}, (top * i / 4).toPrecision(3)));
  }
  plot.append(element("text", {x: 470, y: 455, "text-anchor": "middle"}, "RAM: arena and state"));
  plot.append(element("text", {x: 10, y: 20}, "ms per invoke, estimated"));
  for (const row of points) {
    const shade = row.score === null || high === low ? 0.5 : (row.score - low) / (high - low);
    const dot = element("circle", {cx: x(row.ram_bytes), cy: y(row.milliseconds_estimated), r: front.has(row.task) ? 6 : 4,
      fill: `hsl(215 60% ${75 - 50 * shade}%)`,
      class: [front.has(row.task) ? "front" : "", data.links[row.task] ? "linked" : ""].join(" ").trim()});
    dot.append(element("title", {}, `${row.model}\n${row.board} ${row.options}\n${row.ram_bytes} bytes, ${row.milliseconds_estimated} ms`
      + (row.score === null ? "" : `, score ${row.score}`)));
    if (data.links[row.task]) dot.addEventListener("click", () => { location.href = data.links[row.task]; });
    plot.append(dot);
  }
  byId("shown").textContent = `${shown.length} of ${rows.length} builds.` + (shown.length > MAX_ROWS ? ` The table has the first ${MAX_ROWS}.` : "");
  table(shown);
}

function table(shown) {
  const body = byId("table");
  body.replaceChildren();
  for (const row of shown.slice(0, MAX_ROWS)) {
    const line = document.createElement("tr");
    for (const name of ["model", "board", "options", "ram_bytes", "weights_bytes", "milliseconds_estimated", "instructions", "error", "score"]) {
      const cell = document.createElement("td");
      const value = row[name] === null ? (name === "ram_bytes" ? row.status : "") : String(row[name]);
      if (typeof row[name] === "number") cell.className = "n";
      if (name === "model" && data.links[row.task]) {
        const link = document.createElement("a");
        link.href = data.links[row.task];
        link.textContent = value;
        cell.append(link);
      } else {
        cell.textContent = value;
      }
      line.append(cell);
    }
    body.append(line);
  }
}

byId("filters").addEventListener("input", draw);
draw();
