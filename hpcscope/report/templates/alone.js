"use strict";
// Draws every figure as an SVG that needs no style sheet, for documents: each has its own colors and its legend.
(() => {
  const WIDTH = 640;
  const LINE = 17;  // height of a line of the legend
  const LOOKS = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-family", "text-anchor"];
  const SANS = "Helvetica, Arial, sans-serif";
  const make = (name, attributes, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  };

  function addLegend(svg, data, height) {
    let [x, y] = [14, height + 12];
    for (const { trace, glyph } of drawing.legend(data)) {
      const width = (glyph.length + trace.name.length) * 6.6 + 22;
      if (x + width > WIDTH && x > 14) [x, y] = [14, y + LINE];
      const series = make("g", { class: `${trace.meta.role === "limit" ? "limit" : ""} s${(trace.meta.slot ?? 0) % 11}` });
      const mark = make("text", { x, y }, glyph);
      mark.style.fill = trace.meta.role === "limit" ? "var(--text)" : "var(--series)";
      series.append(mark);
      svg.append(series, make("text", { x: x + glyph.length * 9 + 5, y }, trace.name));
      x += width;
    }
    return x > 14 ? y + 8 : height;
  }

  // What the style sheet says of each element becomes its own.
  function dress(svg) {
    for (const one of svg.querySelectorAll("path, line, rect, text, circle, polygon")) {
      const looks = getComputedStyle(one);
      for (const name of LOOKS) {
        const value = name === "font-family" ? SANS : looks.getPropertyValue(name);
        if (one.tagName === "text" || !name.startsWith("font") && name !== "text-anchor") one.setAttribute(name, value);
      }
    }
    for (const one of svg.querySelectorAll("[class], [style]")) { one.removeAttribute("class"); one.removeAttribute("style"); }
  }

  const figures = JSON.parse(document.getElementById("figures").textContent);
  const written = {};
  const sheets = [];
  for (const [key, figure] of Object.entries(figures)) {
    const place = document.createElement("div");
    place.className = "alone";
    place.dataset.figure = key;
    document.body.append(place);
    drawing.draw(place, figure, { width: WIDTH, origins: figure.origins, hidden: () => false, again: () => {} });
    const svg = place.firstElementChild;
    const height = addLegend(svg, figure.data, Number(svg.getAttribute("height")));
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
    svg.setAttribute("height", height);
    dress(svg);
    svg.prepend(make("title", {}, figure.title), make("desc", {}, figure.caption));
    for (const name of ["aria-hidden", "class"]) svg.removeAttribute(name);
    sheets.push(`@page sheet${sheets.length} { size: ${WIDTH}px ${height}px; margin: 0; }`);
    place.style.height = `${height - 1}px`;  // nothing is left for a second sheet
    place.style.page = `sheet${sheets.length - 1}`;
    written[key] = new XMLSerializer().serializeToString(svg);
  }
  const style = document.createElement("style");
  style.textContent = sheets.join("\n");
  document.head.append(style);
  const result = document.createElement("script");
  result.type = "application/json";
  result.id = "written";
  result.textContent = JSON.stringify(written).replace(/</g, "\\u003c");
  document.body.append(result);
})();
