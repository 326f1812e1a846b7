"use strict";
(() => {
  const root = document.documentElement;
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const plots = [...document.querySelectorAll(".plot")];
  const symbols = ["circle", "square", "diamond", "triangle-up", "cross", "triangle-down", "star", "hexagon"];
  const darkness = matchMedia("(prefers-color-scheme: dark)");

  // Theme: as the system says unless the reader chose.
  let choice = "system";
  function applyTheme() {
    const dark = choice === "dark" || (choice === "system" && darkness.matches);
    root.dataset.theme = dark ? "dark" : "light";
    document.getElementById("theme").textContent = `Theme: ${choice}`;
  }
  const css = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const series = (slot) => css(`series-${slot % 9}`);
  const faded = (color, share) => {
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    return `rgba(${r},${g},${b},${share})`;
  };

  const heat = () => [0, 1, 2, 3, 4].map((step) => [step / 4, css(`heat-${step}`)]);

  const looks = {
    band: (slot) => ({ fillcolor: faded(series(slot), 0.16), line: { width: 0 } }),
    points: (slot) => ({
      marker: { color: series(slot), symbol: symbols[slot % 8], size: 6.5 },
      line: { color: series(slot), width: 1.6 },
      error_y: { color: series(slot), thickness: 1.4, width: 4 },
    }),
    moments: (slot) => ({ marker: { color: faded(series(slot), 0.7), symbol: symbols[slot % 8], size: 4.5 } }),
    fit: (slot) => ({ line: { color: series(slot), width: 1.6 } }),
    limit: () => ({ line: { color: css("text"), width: 1.4, dash: "longdash" } }),
    bar: (slot) => ({ marker: { color: series(slot), line: { width: 1, color: css("card") } } }),
    heat: () => ({ colorscale: heat(), colorbar: { outlinewidth: 0, thickness: 11, len: 0.9, tickfont: { size: 11.5, color: css("muted") } } }),
    surface: () => ({ colorscale: heat(), opacity: 0.82, contours: { x: { show: true, color: css("line") }, y: { show: true, color: css("line") } } }),
    points3d: () => ({ marker: { color: css("series-1"), size: 3, line: { width: 0 } } }),
    ecdf: () => ({ line: { color: faded(series(0), 0.62), width: 1.5, shape: "hv" } }),
  };

  function styledTrace(trace) {
    const { role, slot } = trace.meta;
    const look = looks[role](slot ?? 0);
    const styled = { ...trace, ...look };
    if (trace.colorbar) styled.colorbar = { ...look.colorbar, ...trace.colorbar };
    if (trace.error_y) styled.error_y = { ...trace.error_y, ...look.error_y };
    else delete styled.error_y;
    return styled;
  }

  function styledAxis(axis) {
    const { role, ...rest } = axis;
    return {
      gridcolor: role === "category" ? "rgba(0,0,0,0)" : css("faint"),
      zerolinecolor: css("line"), zeroline: false, linecolor: css("line"), showline: true, ticks: "",
      automargin: true, fixedrange: role === "category", ...rest,
      title: { ...(rest.title ?? {}), font: { size: 12.5, color: css("muted") }, standoff: 8 },
      tickfont: { size: 11.5, color: css("muted") },
    };
  }

  function styledScene(scene) {
    const styled = { camera: { eye: { x: -1.75, y: -1.85, z: 1.05 }, center: { x: 0.05, y: 0, z: -0.12 } }, aspectratio: { x: 1.25, y: 1, z: 0.8 } };
    for (const key of ["xaxis", "yaxis", "zaxis"]) {
      styled[key] = {
        ...scene[key], gridcolor: css("line"), zeroline: false, showbackground: false,
        title: { ...scene[key].title, font: { size: 12.5, color: css("muted") } }, tickfont: { size: 11, color: css("muted") },
      };
    }
    return styled;
  }

  // Notes stand above the figure, in one row or, where neighbours would collide, in two.
  function roomForNotes(notes) {
    if (!notes.length) return 10;
    return notes.some((note) => note.y > 1) ? 42 : 26;
  }

  function styledLayout(layout, plot) {
    const styled = {
      height: 300, margin: { l: 8, r: 14, t: roomForNotes(layout.annotations ?? []), b: 8 }, hovermode: "closest", dragmode: "zoom",
      ...layout,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: css("sans"), size: 12, color: css("text") },
      hoverlabel: { bgcolor: css("card"), bordercolor: css("line"), font: { color: css("text"), size: 12.5 } },
      showlegend: false,
    };
    for (const key of Object.keys(styled)) if (/^[xy]axis\d*$/.test(key)) styled[key] = styledAxis(styled[key]);
    if (layout.scene) styled.scene = styledScene(layout.scene);
    styled.shapes = (layout.shapes ?? []).map(({ meta, ...shape }) => meta === "mark"
      ? { ...shape, line: { width: 2.5, color: css("error") } } : meta === "break-strip" || meta === "slow-state"
      ? { ...shape, line: { width: 0 }, fillcolor: faded(css("warning"), 0.13) }
      : { ...shape, line: { width: 1.2, color: meta === "break" ? css("warning") : css("line"), dash: meta === "break" ? "dot" : "solid" } });
    styled.annotations = (layout.annotations ?? []).map((note) => ({ ...note, font: { size: 11, color: css("muted") } }));
    if (plot.dataset.origins) {
      styled.annotations.push({ text: plot.dataset.origins, x: 0.5, y: 0.5, xref: "paper", yref: "paper", showarrow: false, font: { size: 34, color: faded(css("warning"), 0.28) } });
    }
    return styled;
  }

  // A legend of our own: it wraps on any width, prints, and a click hides a series with its band and its model.
  const glyphs = ["●", "■", "◆", "▲", "✚", "▼", "★", "⬢"];
  function drawLegend(plot, data) {
    const named = data.filter((trace) => trace.showlegend !== false && ["points", "moments", "bar", "limit"].includes(trace.meta.role));
    let legend = plot.nextElementSibling;
    if (!legend.classList.contains("legend")) {
      legend = document.createElement("div");
      legend.className = "legend";
      plot.after(legend);
    }
    legend.replaceChildren(...(named.length < 2 ? [] : named).map((trace) => {
      const { role, slot } = trace.meta;
      const entry = document.createElement("button");
      const glyph = document.createElement("span");
      glyph.textContent = { limit: "╌╌", bar: "■" }[role] ?? glyphs[slot % 8];
      glyph.style.color = role === "limit" ? css("text") : series(slot);
      entry.type = "button";
      entry.append(glyph, ` ${plain(trace.name)}`);
      entry.addEventListener("click", () => {
        const hidden = entry.classList.toggle("hidden");
        const same = data.flatMap(({ meta, name }, index) => (role === "limit" ? meta.role === role && name === trace.name : meta.slot === slot) ? [index] : []);
        Plotly.restyle(plot, { visible: !hidden }, same);
      });
      return entry;
    }));
  }
  function plain(text) {
    return text.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&");
  }

  function draw(plot) {
    const flat = figures[plot.dataset.figure];
    const { data, layout } = plot.dataset.view === "surface" ? flat.surface : flat;
    try {
      Plotly.react(plot, data.map(styledTrace), styledLayout(layout, plot),
        { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"], toImageButtonOptions: { format: "svg", filename: plot.dataset.figure } });
      drawLegend(plot, data);
      plot.dataset.drawn = "yes";
    } catch (error) {
      plot.classList.add("plot-error");
      plot.textContent = `This figure could not be drawn (${error.message}); its table holds the numbers.`;
      complain(`${plot.dataset.figure}: ${error.stack ?? error}`);
    }
  }

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
  darkness.addEventListener("change", () => { applyTheme(); redraw(); });
  document.getElementById("theme").addEventListener("click", () => {
    choice = { system: "light", light: "dark", dark: "system" }[choice];
    applyTheme();
    redraw();
  });
  addEventListener("beforeprint", () => {
    root.dataset.theme = "light";
    plots.filter(open).forEach((plot) => { waiting.delete(plot); draw(plot); });
  });
  addEventListener("afterprint", () => { applyTheme(); redraw(); });

  // A collective in three dimensions. Browsers keep few such pictures alive, so there is one at a time.
  const turn = (button, surface) => {
    const plot = plots.find((one) => one.dataset.figure === button.dataset.of);
    Plotly.purge(plot);
    if (surface) plot.dataset.view = "surface"; else delete plot.dataset.view;
    button.setAttribute("aria-pressed", String(surface));
    button.textContent = surface ? "Flat" : "In three dimensions";
    draw(plot);
  };
  const surfaceButtons = [...document.querySelectorAll("button.surface")];
  surfaceButtons.forEach((button) => button.addEventListener("click", () => {
    const wanted = button.getAttribute("aria-pressed") !== "true";
    surfaceButtons.filter((one) => one !== button && one.getAttribute("aria-pressed") === "true").forEach((one) => turn(one, false));
    turn(button, wanted);
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

  // The table of all figures: searched by words, sorted by a column, a page at a time.
  const PAGE = 100;
  const table = document.getElementById("all");
  const heads = [...table.tHead.rows[0].cells];
  const numeric = heads.map((head) => head.classList.contains("number"));
  const packed = JSON.parse(document.getElementById("rows").textContent);
  const rows = packed.rows.map(([valid, words, keys]) => {
    const texts = words.map((word) => packed.words[word]);
    let next = 0;
    return { valid, texts, keys: texts.map((text, column) => (numeric[column] ? keys[next++] : text)), text: texts.join(" ").toLowerCase() };
  });
  let found = rows;
  let first = 0;
  const byId = (id) => document.getElementById(id);
  function show() {
    table.tBodies[0].replaceChildren(...found.slice(first, first + PAGE).map(({ valid, texts }) => {
      const row = document.createElement("tr");
      if (!valid) row.className = "invalid";
      row.append(...texts.map((text, column) => {
        const cell = document.createElement("td");
        cell.textContent = text;
        if (numeric[column]) cell.className = "number";
        return cell;
      }));
      return row;
    }));
    byId("matches").textContent = found.length === 1 ? "1 row" : `${found.length} rows`;
    byId("where").textContent = found.length > PAGE ? `${first + 1} to ${Math.min(first + PAGE, found.length)}` : "";
    byId("before").disabled = first === 0;
    byId("after").disabled = first + PAGE >= found.length;
    table.parentElement.scrollTop = 0;
  }
  byId("before").addEventListener("click", () => { first = Math.max(0, first - PAGE); show(); });
  byId("after").addEventListener("click", () => { first += PAGE; show(); });
  function search() {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    found = rows.filter(({ text }) => words.every((word) => text.includes(word)));
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
  show();
})();
