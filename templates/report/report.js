"use strict";
(() => {
  const tip = document.getElementById("tip");

  const show = (text, x, y) => {
    tip.textContent = text.trim();
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - box.width - 6))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(6, y - box.height - 12) : y + 18}px`;
  };
  const hide = () => { tip.hidden = true; };

  const mark = (step) => {
    for (const one of document.querySelectorAll("[data-step].on")) one.classList.remove("on");
    if (step !== undefined) for (const one of document.querySelectorAll(`[data-step="${step}"]`)) one.classList.add("on");
  };

  const explain = (event) => {
    const at = event.target.closest?.("[data-tip]");
    mark(event.target.closest?.("[data-step]")?.dataset.step);
    if (at) show(at.dataset.tip, event.clientX, event.clientY); else hide();
  };
  // A finger that taps does not move.
  for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, explain);
  addEventListener("scroll", hide, true);
  for (const one of document.querySelectorAll("[data-tip][tabindex]")) {
    one.addEventListener("focus", () => {
      const box = one.getBoundingClientRect();
      show(one.dataset.tip, box.right, box.top + 30);
    });
    one.addEventListener("blur", hide);
  }

  const plot = document.getElementById("plot");
  if (plot) {
    const columns = JSON.parse(document.getElementById("columns").textContent);
    const cursor = document.getElementById("cursor");
    const line = document.getElementById("step-line");
    const words = line.textContent;
    const follow = (event) => {
      const box = plot.getBoundingClientRect();
      const x = 100 * (event.clientX - box.left) / box.width;
      const step = columns.findIndex((c) => x >= c.x && x < c.x + c.w);
      if (step < 0) return;
      const column = columns[step];
      cursor.setAttribute("x", `${column.x}%`);
      cursor.setAttribute("width", `${column.w}%`);
      line.textContent = `${column.t}: ${column.b.toLocaleString("en")} of ${Number(plot.dataset.bytes).toLocaleString("en")} bytes are in use.`;
      mark(step);
    };
    for (const kind of ["pointermove", "pointerdown"]) plot.addEventListener(kind, follow);
    plot.addEventListener("pointerleave", () => {
      cursor.setAttribute("width", "0");
      line.textContent = words;
      mark(undefined);
    });
  }

  const find = document.getElementById("find");
  const found = document.getElementById("found");
  const cards = [...document.querySelectorAll(".chart [data-step]")];
  let hits = [];
  let now = -1;
  const search = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    hits = words.length ? cards.filter((card) => words.every((word) => card.dataset.tip.toLowerCase().includes(word))) : [];
    now = -1;
    for (const card of cards) card.classList.toggle("hit", hits.includes(card));
    for (const chart of document.querySelectorAll(".chart")) chart.classList.toggle("search", words.length > 0);
    found.textContent = words.length ? `${hits.length} found` : "";
  };
  const next = (way) => {
    if (!hits.length) return;
    hits[now]?.classList.remove("now");
    now = (now + way + hits.length + (now < 0 && way < 0 ? 1 : 0)) % hits.length;
    hits[now].classList.add("now");
    const chart = hits[now].closest(".chart");
    const [box, frame] = [hits[now].getBoundingClientRect(), chart.getBoundingClientRect()];
    chart.scrollBy(box.left - frame.left - (frame.width - box.width) / 2, box.top - frame.top - (frame.height - box.height) / 2);
    found.textContent = `${now + 1} of ${hits.length}`;
  };
  find.addEventListener("input", search);
  find.addEventListener("keydown", (event) => { if (event.key === "Enter") next(event.shiftKey ? -1 : 1); });

  // The size of the drawings in parts of their own.
  const drawings = [...document.querySelectorAll("svg.drawing")];
  const zoom = (drawing, scale) => {
    const box = drawing.viewBox.baseVal;
    drawing.dataset.scale = Math.min(4, Math.max(0.1, scale));
    drawing.setAttribute("width", box.width * drawing.dataset.scale);
    drawing.setAttribute("height", box.height * drawing.dataset.scale);
  };
  const scale = (drawing) => Number(drawing.dataset.scale ?? 1);
  const ways = {
    in: (drawing) => scale(drawing) * 1.25,
    out: (drawing) => scale(drawing) / 1.25,
    none: () => 1,
    fit: (drawing) => {
      const [box, frame] = [drawing.viewBox.baseVal, drawing.parentElement];
      const high = parseFloat(getComputedStyle(frame).maxHeight) || innerHeight;
      return Math.min(1, frame.clientWidth / box.width, high / box.height);
    },
  };
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => { for (const one of drawings) zoom(one, ways[button.dataset.zoom](one)); });
  }
  for (const one of drawings) {
    one.parentElement.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(one, scale(one) * Math.exp(-event.deltaY / 300));
    }, { passive: false });
  }

  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.querySelectorAll("th")];
    heads.forEach((head, place) => head.querySelector("button").addEventListener("click", () => {
      const numeric = head.classList.contains("n");
      const now = head.getAttribute("aria-sort");
      const next = now === "descending" ? "ascending" : now === "ascending" ? "descending" : numeric && place ? "descending" : "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", next);
      const sign = next === "ascending" ? 1 : -1;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => sign * compare(a.cells[place].dataset.key, b.cells[place].dataset.key));
      table.tBodies[0].append(...rows);
    }));
  }
})();
