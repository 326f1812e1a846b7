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

  const looks = {
    band: (slot) => ({ fillcolor: faded(series(slot), 0.16), line: { width: 0 } }),
    points: (slot) => ({
      marker: { color: series(slot), symbol: symbols[slot % 8], size: 6.5 },
      line: { color: series(slot), width: 1.6 },
      error_y: { color: series(slot), thickness: 1.4, width: 4 },
    }),
    fit: (slot) => ({ line: { color: series(slot), width: 1.6 } }),
    limit: () => ({ line: { color: css("text"), width: 1.4, dash: "longdash" } }),
    bar: (slot) => ({ marker: { color: series(slot), line: { width: 1, color: css("card") } } }),
    ecdf: () => ({ line: { color: faded(series(0), 0.62), width: 1.5, shape: "hv" } }),
  };

  function styledTrace(trace) {
    const { role, slot } = trace.meta;
    const look = looks[role](slot ?? 0);
    const styled = { ...trace, ...look };
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
    styled.shapes = (layout.shapes ?? []).map(({ meta, ...shape }) => meta === "break-strip"
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
    const named = data.filter((trace) => trace.showlegend !== false && ["points", "bar", "limit"].includes(trace.meta.role));
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
    const { data, layout } = figures[plot.dataset.figure];
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

  // What the reader sees is drawn first, the rest while the page rests, everything before it prints.
  const waiting = new Set(plots);
  const drawNext = (plot) => { if (waiting.delete(plot)) draw(plot); };
  const watcher = new IntersectionObserver((seen) => {
    for (const one of seen) if (one.isIntersecting) { watcher.unobserve(one.target); drawNext(one.target); }
  }, { rootMargin: "300px" });
  const rest = (work) => setTimeout(work, 4);
  const drawOne = () => {
    const [plot] = waiting;
    if (plot) { drawNext(plot); rest(drawOne); } else root.dataset.drawn = String(plots.length);
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
    waiting.clear();
    plots.forEach((plot) => { draw(plot); });
  });
  addEventListener("afterprint", () => { applyTheme(); redraw(); });

  // The table of all figures: searched by words, sorted by a column.
  const table = document.getElementById("all");
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, text: row.textContent.toLowerCase() }));
  document.getElementById("search").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let matches = 0;
    for (const { row, text } of rows) {
      row.hidden = !words.every((word) => text.includes(word));
      matches += row.hidden ? 0 : 1;
    }
    document.getElementById("matches").textContent = matches === 1 ? "1 row" : `${matches} rows`;
  });
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const descending = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const numeric = head.classList.contains("number");
    const key = ({ row }) => { const cell = row.cells[column]; return cell.dataset.key ?? cell.textContent; };
    const compare = numeric
      ? (a, b) => (a === "") - (b === "") || Number(a) - Number(b)
      : (a, b) => a.localeCompare(b, "en", { numeric: true });
    rows.sort((a, b) => compare(key(a), key(b)) * (descending ? -1 : 1)).forEach(({ row }) => body.append(row));
  }));
})();
