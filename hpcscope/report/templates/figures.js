"use strict";
// Draws figures as SVG from what hpcscope/report/figure.py describes: points, lines, bands, bars, cells and surfaces.
// The style sheet colors them by role and series, so that a theme or a printer needs no second drawing.
const drawing = (() => {
  const LETTER = 6.3;  // mean width of a letter at 11.5 px
  const sharp = (value) => Math.round(value * 10) / 10;

  function element(name, attributes = {}, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  // Markers around the origin; series differ by shape as well as by color.
  const polygon = (points) => `M${points.map(([x, y]) => `${x} ${y}`).join("L")}Z`;
  const regular = (corners, radius, turn = 0) => polygon([...Array(corners).keys()].map((at) => {
    const angle = turn + 2 * Math.PI * at / corners;
    return [sharp(radius * Math.sin(angle)), sharp(-radius * Math.cos(angle))];
  }));
  const disc = (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
  const cross = "M-1.3 -3.9h2.6v2.6h2.6v2.6h-2.6v2.6h-2.6v-2.6h-2.6v-2.6h2.6Z";
  const star = polygon([...Array(10).keys()].map((at) => {
    const r = at % 2 ? 2 : 4.8;
    return [sharp(r * Math.sin(Math.PI * at / 5)), sharp(-r * Math.cos(Math.PI * at / 5))];
  }));
  const MARKERS = [disc(3.4), "M-3 -3h6v6h-6Z", regular(4, 4.4), regular(3, 4.5), cross, regular(3, 4.5, Math.PI), star, regular(6, 4)];
  const GLYPHS = ["●", "■", "◆", "▲", "✚", "▼", "★", "⬢"];
  const DOT = disc(1.8);

  // One axis: from values to pixels, with ticks.
  function axisOf(axis, values, from, to) {
    const log = axis.type === "log";
    const measure = log ? Math.log10 : (value) => value;
    let range = axis.range;
    if (!range) {
      const known = values.filter((value) => Number.isFinite(value) && (!log || value > 0)).map(measure);
      let [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
      if (axis.rangemode === "tozero") [low, high] = [Math.min(0, low), Math.max(0, high)];
      const margin = 0.05 * (high - low || Math.abs(high) || 1);
      range = [axis.rangemode === "tozero" && low === 0 ? 0 : low - margin, high + margin];
    }
    if (axis.autorange === "reversed") range = [...range].reverse();
    const along = (measured) => from + (measured - range[0]) / (range[1] - range[0]) * (to - from);
    const [low, high] = range[0] < range[1] ? range : [range[1], range[0]];
    const found = axis.tickvals ?? (log ? decades(low, high) : rounded(low, high, Math.abs(to - from)));
    const ticks = found
      .map((value, index) => ({ value, text: axis.ticktext?.[index] ?? written(value, axis) }))
      .filter(({ value }) => measure(value) >= low - 1e-9 && measure(value) <= high + 1e-9);
    return { at: (value) => along(measure(value)), along, ticks, low, high };
  }
  function decades(low, high) {
    const found = [];
    for (let power = Math.ceil(low); power <= high; power += 1) found.push(10 ** power);
    return found;
  }
  function rounded(low, high, pixels) {
    const raw = (high - low) / Math.max(2, Math.min(6, pixels / 60));
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => each >= raw * 0.999);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + 1e-9 * step; at += 1) found.push(at * step);
    return found;
  }
  function written(value, axis) {
    if (axis.tickformat === ".0%") return `${Math.round(100 * value)} %`;
    return `${Number(value.toPrecision(4))}${axis.ticksuffix ?? ""}`;
  }

  // `%{text}: %{y:.1%}` as the traces spell what a point says.
  function told(template, values) {
    return template.replace(/%\{(\w+)(?::\.(\d)([%f]))?\}/g, (_, name, digits, kind) => {
      const value = values[name];
      if (kind === "%") return `${(100 * value).toFixed(digits)} %`;
      return kind === "f" ? value.toFixed(digits) : typeof value === "number" ? Number(value.toPrecision(4)) : value ?? "";
    });
  }

  const classes = (role, slot) => `${role} s${(slot ?? 0) % 11}`;

  // Draws a figure into an element; returns what its pointer may ask about.
  function draw(place, figure, options) {
    if (figure.layout.scene) return drawSurface(place, figure, options);
    const { data, layout } = figure;
    const width = options.width;
    const notes = layout.annotations ?? [];
    const bars = data.filter((trace) => trace.type === "bar");
    const heat = data.find((trace) => trace.type === "heatmap");
    const [xa, ya] = [layout.xaxis ?? {}, layout.yaxis ?? {}];
    const categories = bars.length ? bars[0].y : [];
    const height = layout.height ?? 300;
    const top = notes.length ? (notes.some((note) => note.y > 1) ? 40 : 26) : 12;
    const bottom = height - (xa.title?.text ? 42 : 24);

    // The width of the labels decides where the frame begins.
    const ys = extent(data, "y");
    const probe = categories.length ? { ticks: categories.map((text) => ({ text })) } : axisOf(ya, ys, bottom, top);
    const widest = Math.max(...probe.ticks.map(({ text }) => text.length), 1) * LETTER + 8;
    const titled = ya.title?.text ? 20 : 2;
    const left = titled + Math.min(widest, width * (categories.length ? 0.42 : 0.3));
    let right = width - 14 - (heat?.colorbar ? 74 : 0);
    let floor = bottom;
    if (ya.scaleanchor) {
      const [across, down] = [xa, ya].map(({ range }) => Math.abs(range[1] - range[0]));
      const side = Math.min((right - left) / across, (bottom - top) / down);
      right = left + side * across;
      floor = top + side * down;
    }
    const x = axisOf(xa, bars.length ? stacked(bars, layout).ends : extent(data, "x"), left, right);
    const y = categories.length
      ? { at: (row) => top + (row + 0.5) * (floor - top) / categories.length, ticks: categories.map((text, row) => ({ value: row, text })) }
      : axisOf(ya, ys, floor, top);

    const svg = element("svg", { class: "drawn", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
    const clip = `clip-${place.dataset.figure}`;
    const frame = element("clipPath", { id: clip });
    frame.append(element("rect", { x: left - 5, y: top - 5, width: right - left + 10, height: floor - top + 10 }));
    svg.append(frame);
    grid(svg, x, y, { xa, ya, left, right, top, floor, categories });
    const inside = element("g", { "clip-path": `url(#${clip})` });
    svg.append(inside);
    const targets = [];
    for (const shape of layout.shapes ?? []) drawShape(inside, shape, x, y, top, floor);
    if (bars.length) drawBars(inside, stacked(bars.filter((one) => !options.hidden(one)), layout).parts, x, y, (floor - top) / categories.length, targets);
    if (heat) drawCells(svg, heat, x, y, { right, top, floor }, targets);
    for (const trace of data) if (trace.type === "scatter" && !options.hidden(trace)) drawScatter(inside, trace, x, y, targets);
    for (const shape of layout.shapes ?? []) if (shape.meta === "mark") drawShape(svg, shape, x, y, top, floor);
    for (const note of notes) {
      svg.append(element("text", { class: "note", x: sharp(x.along(note.x)), y: note.y > 1 ? top - 20 : top - 7, "text-anchor": "middle" }, note.text));
    }
    if (options.origins) svg.append(element("text", { class: "stamp", x: (left + right) / 2, y: (top + floor) / 2, "text-anchor": "middle" }, options.origins));
    place.replaceChildren(svg);
    return targets;
  }

  function extent(data, name) {
    return data.flatMap((trace) => {
      const values = trace[name] ?? [];
      const bars = name === "y" && trace.error_y;
      return bars ? values.flatMap((value, at) => [value - bars.arrayminus[at], value + bars.array[at]]) : values;
    }).filter((value) => value !== null);
  }

  function grid(svg, x, y, { xa, ya, left, right, top, floor, categories }) {
    const lines = [];
    if (xa.role !== "category" && xa.showgrid !== false) for (const { value } of x.ticks) lines.push(`M${sharp(x.at(value))} ${top}V${floor}`);
    if (ya.role !== "category") for (const { value } of y.ticks) lines.push(`M${left} ${sharp(y.at(value))}H${right}`);
    svg.append(element("path", { class: "grid", d: lines.join("") }));
    svg.append(element("path", { class: "axis", d: `M${left} ${top}V${floor}H${right}` + (ya.zeroline && y.low < 0 ? `M${left} ${sharp(y.at(0))}H${right}` : "") }));
    let free = -Infinity;  // labels that would touch their neighbor are left out
    for (const { value, text } of x.ticks) {
      const [at, half] = [x.at(value), text.length * LETTER / 2];
      if (at - half < free) continue;
      free = at + half + 7;
      svg.append(element("text", { class: "tick", x: sharp(Math.min(at, right + 12 - half)), y: floor + 17, "text-anchor": "middle" }, text));
    }
    let above = Infinity;
    const upward = categories.length || ya.autorange === "reversed" ? y.ticks.slice().reverse() : y.ticks;
    for (const { value, text } of upward.slice().sort((a, b) => y.at(b.value) - y.at(a.value))) {
      const at = y.at(value);
      if (above - at < 12) continue;
      above = at;
      const room = Math.floor((left - (ya.title?.text ? 22 : 4)) / LETTER);
      const label = element("text", { class: "tick", x: left - 7, y: sharp(at + 4), "text-anchor": "end" }, text.length > room ? `${text.slice(0, room - 1)}…` : text);
      if (text.length > room) label.append(element("title", {}, text));
      svg.append(label);
    }
    if (xa.title?.text) svg.append(element("text", { class: "title", x: (left + right) / 2, y: floor + 37, "text-anchor": "middle" }, xa.title.text));
    if (ya.title?.text) svg.append(element("text", { class: "title", transform: `translate(13 ${(top + floor) / 2}) rotate(-90)`, "text-anchor": "middle" }, ya.title.text));
  }

  function drawShape(parent, shape, x, y, top, floor) {
    const paper = shape.yref === "paper";
    const [x0, x1] = [x.at(shape.x0), x.at(shape.x1)];
    const [y0, y1] = paper ? [top, floor] : [y.at(shape.y0), y.at(shape.y1)];
    const made = shape.type === "line"
      ? element("line", { x1: sharp(x0), x2: sharp(x1), y1: sharp(y0), y2: sharp(y1) })
      : element("rect", { x: sharp(Math.min(x0, x1)), y: sharp(Math.min(y0, y1)), width: sharp(Math.abs(x1 - x0)), height: sharp(Math.abs(y1 - y0)) });
    made.setAttribute("class", `shape ${shape.meta}`);
    parent.append(made);
  }

  function drawScatter(parent, trace, x, y, targets) {
    const { role, slot } = trace.meta;
    const group = element("g", { class: classes(role, slot) });
    const points = trace.x.map((value, at) => (value === null || trace.y[at] === null ? null : [sharp(x.at(value)), sharp(y.at(trace.y[at]))]));
    if (trace.mode.includes("lines")) {
      let path = "";
      let before = null;
      for (const point of points) {
        if (point) path += !before ? `M${point[0]} ${point[1]}` : trace.line?.shape === "hv" ? `H${point[0]}V${point[1]}` : `L${point[0]} ${point[1]}`;
        before = point;
      }
      group.append(element("path", { class: trace.fill ? "area" : "line", d: path }));
    }
    if (trace.error_y) {
      const whiskers = points.map((point, at) => {
        if (!point) return "";
        const [low, high] = [trace.y[at] - trace.error_y.arrayminus[at], trace.y[at] + trace.error_y.array[at]].map((value) => sharp(y.at(value)));
        return Number.isFinite(low) && Number.isFinite(high) ? `M${point[0]} ${low}V${high}M${point[0] - 3} ${low}h6M${point[0] - 3} ${high}h6` : "";
      });
      group.append(element("path", { class: "line", d: whiskers.join("") }));
    }
    if (trace.mode.includes("markers")) {
      const marker = role === "moments" ? DOT : MARKERS[(slot ?? 0) % 8];
      const shift = (point) => marker.replace(/^M(-?[\d.]+) (-?[\d.]+)/, (_, a, b) => `M${sharp(point[0] + Number(a))} ${sharp(point[1] + Number(b))}`)
        .replace(/L(-?[\d.]+) (-?[\d.]+)/g, (_, a, b) => `L${sharp(point[0] + Number(a))} ${sharp(point[1] + Number(b))}`);
      group.append(element("path", { class: "marker", d: points.map((point) => (point ? shift(point) : "")).join("") }));
    }
    if (trace.hovertemplate) {
      points.forEach((point, at) => {
        if (point) targets.push({ x: point[0], y: point[1], width: 0, height: 0, says: () => told(trace.hovertemplate, { text: trace.text?.[at], x: trace.x[at], y: trace.y[at] }) });
      });
    }
    parent.append(group);
  }

  function stacked(bars, layout) {
    const rows = bars[0]?.y.length ?? 0;
    const sums = [...Array(rows).keys()].map((row) => bars.reduce((sum, bar) => sum + bar.x[row], 0));
    const begun = Array(rows).fill(0);
    const parts = bars.flatMap((bar) => bar.x.map((value, row) => {
      const length = layout.barnorm === "percent" ? 100 * value / (sums[row] || 1) : value;
      begun[row] += length;
      return { bar, row, begin: begun[row] - length, end: begun[row] };
    }));
    return { parts, ends: [0, ...parts.map(({ end }) => end)] };
  }
  function drawBars(parent, parts, x, y, step, targets) {
    const thick = Math.min(20, 0.72 * step);
    for (const { bar, row, begin, end } of parts) {
      const box = { x: sharp(x.at(begin)), y: sharp(y.at(row) - thick / 2), width: sharp(Math.max(0, x.at(end) - x.at(begin))), height: sharp(thick) };
      parent.append(element("rect", { class: classes("stack", bar.meta.slot), ...box }));
      targets.push({ ...box, says: () => told(bar.hovertemplate, { text: bar.text[row], y: bar.y[row] }) });
    }
  }

  const shade = (share) => {
    const step = 4 * Math.min(1, Math.max(0, share));
    const at = Math.min(3, Math.floor(step));
    return `color-mix(in oklab, var(--heat-${at + 1}) ${Math.round(100 * (step - at))}%, var(--heat-${at}))`;
  };
  function drawCells(svg, heat, x, y, { right, top, floor }, targets) {
    const span = heat.zmax - heat.zmin || 1;
    const edges = (places, axis) => places.map((at, index) => {
      const half = (places[index + 1] ?? at) - at || at - (places[index - 1] ?? at - 1);
      return [axis.at(at - half / 2), axis.at(at + half / 2)];
    });
    const [columns, lines] = [edges(heat.x, x), edges(heat.y, y)];
    const gap = heat.xgap ?? 0;
    heat.z.forEach((row, down) => row.forEach((value, across) => {
      if (value === null) return;
      const [[x0, x1], [y0, y1]] = [columns[across], lines[down]];
      const box = { x: sharp(Math.min(x0, x1)), y: sharp(Math.min(y0, y1)), width: sharp(Math.max(0.2, Math.abs(x1 - x0) - gap)), height: sharp(Math.max(0.2, Math.abs(y1 - y0) - gap)) };
      const share = (value - heat.zmin) / span;
      svg.append(element("rect", { class: "cell", style: `fill:${shade(share)}`, ...box }));
      const text = heat.text?.[down]?.[across];
      if (text && box.width > text.length * 5.6) {
        svg.append(element("text", { class: share > 0.55 ? "in-cell dark" : "in-cell", x: sharp(box.x + box.width / 2), y: sharp(box.y + box.height / 2 + 4), "text-anchor": "middle" }, text));
      }
      targets.push({ ...box, says: () => told(heat.hovertemplate, { hovertext: heat.hovertext?.[down]?.[across], x: heat.x[across], y: heat.y[down], z: value }) });
    }));
    if (!heat.colorbar) return;
    const steps = 24;
    const height = (floor - top) / steps;
    for (let at = 0; at < steps; at += 1) {
      svg.append(element("rect", { style: `fill:${shade((at + 0.5) / steps)}`, x: right + 12, y: sharp(floor - (at + 1) * height), width: 10, height: sharp(height + 0.4) }));
    }
    const scale = axisOf({ ...heat.colorbar, range: [heat.zmin, heat.zmax] }, [], floor, top);
    for (const { value, text } of scale.ticks) svg.append(element("text", { class: "tick", x: right + 26, y: sharp(scale.at(value) + 4) }, text));
  }

  // A surface in three dimensions with the measured points; dragging turns it.
  function drawSurface(place, figure, options) {
    const [surface, points] = [figure.data.find((one) => one.type === "surface"), figure.data.find((one) => one.type === "scatter3d")];
    const { xaxis, yaxis, zaxis } = figure.layout.scene;
    const [width, height] = [options.width, figure.layout.height ?? 460];
    const span = (values) => [Math.min(...values), Math.max(...values)];
    const known = (values) => values.flat(Infinity).filter((value) => value !== null);
    const ranges = [span(surface.x), span(surface.y), span([...known(surface.z), ...known(points.z)])];
    const unit = (value, [low, high]) => (value - low) / (high - low || 1) - 0.5;
    const turn = (place.turn ??= { around: 0.6, up: 0.5 });
    const turned = (x, y, z) => {
      const [a, b, c] = [1.1 * unit(x, ranges[0]), unit(y, ranges[1]), 0.75 * unit(z, ranges[2])];
      const away = a * Math.sin(turn.around) + b * Math.cos(turn.around);
      return [a * Math.cos(turn.around) - b * Math.sin(turn.around), -(c * Math.cos(turn.up) + away * Math.sin(turn.up)), away * Math.cos(turn.up) - c * Math.sin(turn.up)];
    };
    // The box fills the frame but for the room of its labels.
    const box = ranges[0].flatMap((x) => ranges[1].flatMap((y) => ranges[2].map((z) => turned(x, y, z))));
    const [[left, right], [top, bottom]] = [0, 1].map((axis) => span(box.map((corner) => corner[axis])));
    const size = Math.min((width - 150) / (right - left), (height - 80) / (bottom - top));
    const project = (x, y, z) => {
      const [across, down, away] = turned(x, y, z);
      return [sharp(105 + size * (across - left)), sharp(22 + size * (down - top)), away];
    };
    const tall = Math.round(80 + size * (bottom - top));
    const svg = element("svg", { class: "drawn turning", viewBox: `0 0 ${width} ${tall}`, width, height: tall, "aria-hidden": "true" });
    const [[x0, x1], [y0, y1], [z0, z1]] = ranges;
    const near = (pairs) => pairs.map((pair) => ({ pair, depth: project(...pair[0])[2] + project(...pair[1])[2] })).sort((a, b) => a.depth - b.depth)[0].pair;
    const line = (from, to) => `M${project(...from).slice(0, 2).join(" ")}L${project(...to).slice(0, 2).join(" ")}`;
    const [xEdge, yEdge] = [near([[[x0, y0, z0], [x1, y0, z0]], [[x0, y1, z0], [x1, y1, z0]]]), near([[[x0, y0, z0], [x0, y1, z0]], [[x1, y0, z0], [x1, y1, z0]]])];
    const corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]].map(([x, y]) => [[x, y, z0], [x, y, z1]]);
    const zEdge = corners.sort((a, b) => project(...a[0])[0] - project(...b[0])[0])[0];
    svg.append(element("path", { class: "axis", d: [xEdge, yEdge, zEdge].map(([from, to]) => line(from, to)).join("") }));
    // Labels stand outside: left of what is on the left, right of what is on the right.
    const write = (axis, edge, along) => {
      const [mx, my] = project(...edge[0].map((value, at) => (value + edge[1][at]) / 2));
      const [side, anchor] = along === 2 || mx < 105 + size * (right - left) / 2 ? [-1, "end"] : [1, "start"];
      axis.tickvals.forEach((value, index) => {
        const at = [...edge[0]];
        at[along] = value;
        if (value < ranges[along][0] - 1e-9 || value > ranges[along][1] + 1e-9) return;
        const [px, py] = project(...at);
        svg.append(element("text", { class: "tick", x: px + 6 * side, y: along === 2 ? py + 4 : py + 14, "text-anchor": anchor }, axis.ticktext[index]));
      });
      svg.append(element("text", { class: "title", x: along === 2 ? 52 : mx + 45 * side, y: along === 2 ? my : my + 40, "text-anchor": anchor }, axis.title.text));
    };
    write(xaxis, xEdge, 0);
    write(yaxis, yEdge, 1);
    write(zaxis, zEdge, 2);
    const parts = [];
    for (let row = 0; row + 1 < surface.y.length; row += 1) {
      for (let column = 0; column + 1 < surface.x.length; column += 1) {
        const around = [[row, column], [row, column + 1], [row + 1, column + 1], [row + 1, column]];
        const heights = around.map(([r, c]) => surface.z[r][c]);
        if (heights.includes(null)) continue;
        const placed = around.map(([r, c], index) => project(surface.x[c], surface.y[r], heights[index]));
        const mean = heights.reduce((sum, value) => sum + value, 0) / 4;
        const depth = placed.reduce((sum, point) => sum + point[2], 0) / 4;
        parts.push({
          depth,
          drawn: element("path", { class: "facet", style: `fill:${shade((mean - surface.cmin) / (surface.cmax - surface.cmin || 1))}`, d: polygon(placed.map((point) => point.slice(0, 2))) }),
        });
        // Where a side of the facet crosses the height of a tick begins or ends a level line: two points or, on a saddle, four.
        const levels = zaxis.tickvals.flatMap((level) => {
          const crossings = around.flatMap(([r, c], side) => {
            const [nr, nc] = around[(side + 1) % 4];
            const [from, to] = [heights[side], heights[(side + 1) % 4]];
            if (from > level === to > level) return [];
            const part = (level - from) / (to - from);
            return [[surface.x[c] + part * (surface.x[nc] - surface.x[c]), surface.y[r] + part * (surface.y[nr] - surface.y[r]), level]];
          });
          return crossings.length === 4 ? [crossings.slice(0, 2), crossings.slice(2)] : crossings.length === 2 ? [crossings] : [];
        });
        for (const [from, to] of levels) parts.push({ depth: depth - 1e-6, drawn: element("path", { class: "level", d: line(from, to) }) });
      }
    }
    const targets = points.x.map((x, at) => {
      const [px, py, depth] = project(x, points.y[at], points.z[at]);
      parts.push({ depth: depth - 0.02, drawn: element("circle", { class: "measured", cx: px, cy: py, r: 3 }) });
      return { x: px, y: py, width: 0, height: 0, says: () => points.text[at] };
    });
    svg.append(...parts.sort((a, b) => b.depth - a.depth).map(({ drawn }) => drawn));
    svg.addEventListener("pointermove", (event) => {
      if (event.buttons !== 1) return;
      turn.around += event.movementX / 150;
      turn.up = Math.min(1.45, Math.max(0.05, turn.up + event.movementY / 200));
      options.again();
    });
    place.replaceChildren(svg);
    return targets;
  }

  // What the pointer is on, or next to.
  function nearest(targets, x, y) {
    let best = null;
    let least = 22 ** 2;
    for (const one of targets) {
      const [dx, dy] = [Math.max(one.x - x, 0, x - one.x - one.width), Math.max(one.y - y, 0, y - one.y - one.height)];
      const distance = dx * dx + dy * dy;
      if (distance < least) [best, least] = [one, distance];
    }
    return best;
  }

  // The names of the series that are drawn.
  // Only what is drawn has an entry: a bar of no length and a line without points have none.
  function legend(data) {
    const isDrawn = (trace) => (trace.type === "bar" ? trace.x.some((length) => length > 0) : (trace.y ?? []).some((value) => value !== null));
    const named = data.filter((trace) => trace.showlegend !== false && ["points", "moments", "bar", "limit", "ecdf"].includes(trace.meta.role) && isDrawn(trace));
    return named.length < 2 ? [] : named.map((trace) => ({ trace, glyph: { limit: "╌╌", bar: "■", ecdf: "━" }[trace.meta.role] ?? GLYPHS[(trace.meta.slot ?? 0) % 8] }));
  }

  return { draw, nearest, legend };
})();
