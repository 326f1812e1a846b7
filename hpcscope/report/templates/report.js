"use strict";
// An element with its contents, here and in the script of a site.
function made(name, content = [], kind = "") {
  const element = document.createElement(name);
  if (kind) element.className = kind;
  element.append(...[content].flat());
  return element;
}
(() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures")?.textContent ?? "{}");
  const plots = [...document.querySelectorAll(".plot")];
  const darkness = matchMedia("(prefers-color-scheme: dark)");

  // Theme: as the system says unless the reader chose.
  let choice = "system";
  function applyTheme() {
    const dark = choice === "dark" || (choice === "system" && darkness.matches);
    root.dataset.theme = dark ? "dark" : "light";
    document.getElementById("theme").textContent = `Theme: ${choice}`;
  }

  // A legend wraps on any width and prints; a click hides a series with its band and its model.
  const hidden = new Map();  // by figure: the series that the reader switched off
  function drawLegend(plot, data) {
    const off = hidden.get(plot) ?? new Set();
    let legend = plot.nextElementSibling;
    if (!legend.classList.contains("legend")) {
      legend = made("div", [], "legend");
      plot.after(legend);
    }
    legend.replaceChildren(...drawing.legend(data).map(({ trace, glyph }) => {
      const mark = made("span", glyph, `${trace.meta.role === "limit" ? "limit" : ""} s${(trace.meta.slot ?? 0) % 11}`);
      const entry = made("button", [mark, ` ${trace.name}`]);
      entry.type = "button";
      entry.classList.toggle("hidden", off.has(series(trace)));
      entry.addEventListener("click", () => {
        if (!off.delete(series(trace))) off.add(series(trace));
        hidden.set(plot, off);
        draw(plot);
      });
      return entry;
    }));
  }
  const series = ({ meta, name }) => (meta.role === "limit" ? `limit ${name}` : meta.slot);

  let paper = false;
  function draw(plot) {
    const flat = figures[plot.dataset.figure];
    const figure = plot.dataset.view === "surface" ? flat.surface : flat;
    const off = hidden.get(plot);
    try {
      plot.targets = drawing.draw(plot, figure, {
        width: paper ? (plot.closest(".wide") ? 680 : 330) : Math.max(280, plot.clientWidth || 640), origins: plot.dataset.origins, again: () => draw(plot),
        hidden: (trace) => off?.has(series(trace)),
      });
      drawLegend(plot, figure.data);
      plot.dataset.drawn = "yes";
    } catch (error) {
      plot.classList.add("plot-error");
      plot.textContent = `This figure could not be drawn (${error.message}); its table holds the numbers.`;
      complain(`${plot.dataset.figure}: ${error.stack ?? error}`);
    }
  }

  // What stands under the pointer, in words.
  const bubble = made("div", [], "bubble");
  bubble.hidden = true;
  document.body.append(bubble);
  function point(plot, event) {
    const frame = plot.firstElementChild?.getBoundingClientRect();
    const found = frame && drawing.nearest(plot.targets ?? [], event.clientX - frame.left, event.clientY - frame.top);
    const says = found?.says();
    bubble.hidden = !says;
    if (!says) return;
    bubble.textContent = says;
    const left = event.clientX + 14;
    bubble.style.left = `${Math.max(4, Math.min(left, innerWidth - bubble.offsetWidth - 8))}px`;
    bubble.style.top = `${event.clientY + 16 + bubble.offsetHeight > innerHeight ? event.clientY - bubble.offsetHeight - 10 : event.clientY + 16}px`;
  }
  const follow = (plot) => {
    plot.addEventListener("pointermove", (event) => point(plot, event));
    plot.addEventListener("pointerleave", () => { bubble.hidden = true; });
  };
  plots.forEach(follow);

  // A figure whose data came later.
  globalThis.addFigure = (plot, figure) => {
    figures[plot.dataset.figure] = figure;
    if (!plots.includes(plot)) { plots.push(plot); follow(plot); plot.classList.add("plot"); }
    draw(plot);
  };

  const complain = (text) => { root.dataset.errors = `${root.dataset.errors ?? ""}${text}\n`; };
  addEventListener("error", (event) => complain(event.message));
  addEventListener("unhandledrejection", (event) => complain(String(event.reason)));
  addEventListener("securitypolicyviolation", (event) => complain(`${event.violatedDirective} ${event.blockedURI}`));

  // What the reader sees is drawn first, the rest of what is open while the page rests, everything open before it
  // prints; what is folded away waits until it is opened.
  const waiting = new Set(plots);
  const drawNext = (plot) => { if (waiting.delete(plot)) draw(plot); };
  const watcher = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) { watcher.unobserve(one.target); drawNext(one.target); }
  }, { rootMargin: "300px" });
  const rest = (work) => setTimeout(work, 4);
  const open = (plot) => !plot.closest("details:not([open])");
  const drawOne = () => {
    const plot = [...waiting].find(open);
    if (plot) { drawNext(plot); rest(drawOne); } else root.dataset.drawn = String(plots.length - waiting.size);
  };
  const redraw = () => plots.filter((plot) => !waiting.has(plot)).forEach(draw);

  applyTheme();
  plots.forEach((plot) => watcher.observe(plot));
  rest(drawOne);
  darkness.addEventListener("change", applyTheme);
  document.getElementById("theme").addEventListener("click", () => {
    choice = { system: "light", light: "dark", dark: "system" }[choice];
    applyTheme();
  });
  let resized = 0;
  let across = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === across) return;
    across = innerWidth;
    clearTimeout(resized);
    resized = setTimeout(redraw, 150);
  });

  // On paper stands what is open on the screen or, where everything is asked for, every curve; tables stay folded.
  // A sheet is so wide whatever the window is: letters on curves keep their size.
  const closed = [];
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    paper = true;
    document.querySelectorAll("details").forEach((one) => {
      if (root.classList.contains("whole") && !one.open && one.querySelector(":scope .plot, :scope .panels, :scope > .finding")) { one.open = true; closed.push(one); }
    });
    plots.filter(open).forEach((plot) => { waiting.delete(plot); draw(plot); });
  });
  document.getElementById("whole").addEventListener("click", () => {
    root.classList.add("whole");
    print();
  });
  addEventListener("afterprint", () => {
    paper = false;
    root.classList.remove("whole");
    closed.splice(0).forEach((one) => { one.open = false; });
    applyTheme();
    redraw();
  });

  // A collective in three dimensions.
  document.querySelectorAll("button.surface").forEach((button) => button.addEventListener("click", () => {
    const plot = plots.find((one) => one.dataset.figure === button.dataset.of);
    const surface = button.getAttribute("aria-pressed") !== "true";
    if (surface) plot.dataset.view = "surface"; else delete plot.dataset.view;
    button.setAttribute("aria-pressed", String(surface));
    button.textContent = surface ? "Flat" : "In three dimensions";
    draw(plot);
  }));

  // Where a link leads is opened, and with it everything that it stands in.
  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    target?.scrollIntoView({ behavior: "instant" });
  }
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();
  for (const [key, opened] of [["open", true], ["close", false]]) {
    document.querySelectorAll(`[data-${key}]`).forEach((button) => button.addEventListener("click", () => {
      document.getElementById(button.dataset[key]).querySelectorAll("details.benchmark").forEach((one) => { one.open = opened; });
    }));
  }

  // The benchmarks of the layer that is being read stand in the contents.
  const here = new IntersectionObserver((seen) => {
    for (const one of seen) {
      document.querySelector(`.contents a[href="#${one.target.id}"] + .benchmarks`)?.classList.toggle("here", one.isIntersecting);
    }
  }, { rootMargin: "-20% 0px -75% 0px" });
  document.querySelectorAll("section").forEach((section) => here.observe(section));

  // Rows of a comparison, or of a site's table, that have all words; groups with such rows open.
  const filter = document.getElementById("filter");
  globalThis.applyFilter = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...document.querySelectorAll(".verdict-group tbody tr, .filtered tbody tr")];
    for (const row of rows) {
      const text = row.dataset.words ?? row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
    const left = rows.filter((row) => !row.hidden).length;
    const groups = document.querySelectorAll(".verdict-group");
    if (words.length) groups.forEach((group) => { group.open = group.querySelector("tbody tr:not([hidden])") !== null; });
    const of = groups.length ? (left === 1 ? "case" : "cases") : `of ${rows.length}`;
    document.getElementById("filtered").textContent = words.length ? `${left} ${of}` : "";
  };
  filter?.addEventListener("input", applyFilter);

  // The table of all figures: searched by words, sorted by a column, a page at a time.
  const PAGE = 100;
  const table = document.getElementById("all");
  if (!table) return;
  const heads = [...table.tHead.rows[0].cells];
  const numeric = heads.map((head) => head.classList.contains("number"));
  const packed = JSON.parse(document.getElementById("rows").textContent);
  const rows = packed.rows.map(([flags, words, keys]) => {
    const all = words.map((word) => packed.words[word]);
    const [texts, request] = [all.slice(0, -1), all.at(-1)];
    let next = 0;
    return { valid: flags & 1, headline: flags & 2, texts, request, keys: texts.map((text, column) => (numeric[column] ? keys[next++] : text)), text: all.join(" ").toLowerCase() };
  });
  let found = rows;
  let first = 0;
  const byId = (id) => document.getElementById(id);
  function show() {
    table.tBodies[0].replaceChildren(...found.slice(first, first + PAGE).map(({ valid, texts, request }) => {
      const cells = texts.map((text, column) => {
        return made("td", column === 0 && request ? command(text, request) : text, numeric[column] ? "number" : "");
      });
      return made("tr", cells, valid ? "" : "invalid");
    }));
    byId("matches").textContent = found.length === 1 ? "1 row" : `${found.length} rows`;
    byId("where").textContent = found.length > PAGE ? `${first + 1} to ${Math.min(first + PAGE, found.length)}` : "";
    byId("before").disabled = first === 0;
    byId("after").disabled = first + PAGE >= found.length;
    table.parentElement.scrollTop = 0;
  }
  // The name of a case opens the command that measures it again.
  function command(text, request) {
    return made("details", [made("summary", text), made("code", `scope run --case "${request}"`)], "exact");
  }
  byId("before").addEventListener("click", () => { first = Math.max(0, first - PAGE); show(); });
  byId("after").addEventListener("click", () => { first += PAGE; show(); });
  function search() {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const every = byId("every")?.checked ?? true;
    found = rows.filter(({ text, headline }) => (every || headline) && words.every((word) => text.includes(word)));
    first = 0;
    show();
  }
  byId("search").addEventListener("input", search);
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const descending = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const compare = numeric[column]
      ? (a, b) => (a === null) - (b === null) || a - b
      : (a, b) => a.localeCompare(b, "en", { numeric: true });
    rows.sort((a, b) => compare(a.keys[column], b.keys[column]) * (descending ? -1 : 1));
    search();
  }));
  byId("every")?.addEventListener("change", search);
  search();
})();
