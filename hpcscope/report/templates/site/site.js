"use strict";
// The pages of a repository's site: data come in pieces, as scripts, so that the folder needs no server.
const site = (() => {
  const found = new Map();  // by the name of a piece: a promise of its value
  const taken = new Map();
  const start = JSON.parse(document.getElementById("start").textContent);
  const self = { root: start.root };

  self.take = (name, value) => taken.set(name, value);
  self.load = (name) => {
    if (!found.has(name)) {
      found.set(name, new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `${self.root}data/${name}.js`;
        script.onload = () => resolve(taken.get(name));
        script.onerror = () => reject(new Error(`data/${name}.js is missing`));
        document.head.append(script);
      }));
    }
    return found.get(name);
  };

  const at = (id) => document.getElementById(id);
  const done = () => { document.documentElement.dataset.settled = "yes"; };
  const date = (unix) => new Date(1000 * unix).toISOString().slice(0, 10);
  const cell = (content, kind) => made("td", content ?? "", kind);
  const line = () => document.createElement("br");
  function row(cells, words) {
    const element = made("tr", cells);
    if (words) element.dataset.words = words.toLowerCase();
    return element;
  }
  function link(text, target) {
    const element = made("a", text);
    element.href = self.root + target;
    return element;
  }

  self.index = self.machine = () => { applyFilter(); done(); };

  function options(select, cases, chosen) {
    const group = new Map();
    for (const [id, benchmark, label, metric, , origin] of cases) {
      if (!group.has(benchmark)) {
        group.set(benchmark, made("optgroup"));
        group.get(benchmark).label = benchmark;
      }
      const option = new Option(`${label}: ${metric}${origin === "published" ? " (published)" : ""}`, id, false, id === chosen);
      group.get(benchmark).append(option);
    }
    select.replaceChildren(...group.values());
  }

  // What historic machines published of the case.
  function beside(machines, id) {
    at("beside").hidden = !machines.length;
    at("beside").replaceChildren("Published: ", ...machines.flatMap(([name, page, shown, source], number) => [
      number ? "; " : "", link(name, `clusters/${page}.html`), ` ${shown} (${source})`,
    ]), ". ", link("Ranking", `ranking.html#${id}`));
  }

  self.cluster = async (cluster) => {
    const cases = await self.load(`cases-${cluster}`);
    options(at("case"), cases, location.hash.slice(1));
    const show = async () => {
      if (!at("case").value) return;
      const figure = await self.load(`course-${cluster}-${at("case").value}`);
      globalThis.addFigure(at("course"), figure);
      beside(figure.beside, at("case").value);
      done();
    };
    at("case").addEventListener("change", () => { history.replaceState(null, "", `#${at("case").value}`); show(); });
    // A change that is followed shows its figure.
    addEventListener("hashchange", async () => {
      if (!cases.some(([id]) => id === location.hash.slice(1))) return;
      at("case").value = location.hash.slice(1);
      await show();
      at("case").scrollIntoView({ block: "center" });
    });
    await show();
    if (location.hash) at("case").scrollIntoView({ block: "center" });
    done();
  };

  self.ranking = async () => {
    const cases = await self.load("cases");
    const asked = location.hash.slice(1);
    const known = new Map(cases.map((one) => [one[0], one]));
    const show = async () => {
      const id = at("case").value;
      if (!id) { at("rows").replaceChildren(); return; }
      history.replaceState(null, "", `#${id}`);
      const [, , label, metric, better, origin] = known.get(id);
      at("better").textContent = `${label}: ${metric}; ${better} is better${origin === "measured" ? "" : `; ${origin === "published" ? "a published case" : origin}`}.`;
      const places = await self.load(`ranking-${id}`);
      at("rows").replaceChildren(...places.map(([cluster, page, began, shown, best, worst, low, middle, high, source]) => {
        const [interval, mark] = [made("i"), made("b")];
        interval.style.left = `${low}%`;
        interval.style.width = `${high - low}%`;
        mark.style.left = `${middle}%`;
        const bar = middle === null ? made("span", "off the scale", "quiet") : made("span", [interval, mark], "line from-zero");
        if (source) bar.classList.add("published");
        const place = source ? "–" : best === worst ? String(best) : `${best} to ${worst}`;
        return row([
          cell(place, "number"), cell(link(cluster, `clusters/${page}.html`)), cell(shown, "number"), cell(bar, "forest"),
          cell(source ? `published: ${source}` : date(began), "prose"),
        ]);
      }));
      done();
    };
    const narrow = () => {
      const words = at("words").value.toLowerCase().split(/\s+/).filter(Boolean);
      const fitting = cases.filter(([, benchmark, label, metric]) => words.every((word) => `${benchmark} ${label} ${metric}`.toLowerCase().includes(word)));
      options(at("case"), fitting, asked);
      show();
    };
    at("words").addEventListener("input", narrow);
    at("case").addEventListener("change", show);
    narrow();
  };

  const MOST_COMPARED = 12;
  self.runs = async (pieces) => {
    const chosen = new Set();
    let next = 0;
    const update = () => {
      at("compare").disabled = chosen.size < 2 || chosen.size > MOST_COMPARED;
      at("compare").textContent = chosen.size > MOST_COMPARED ? `At most ${MOST_COMPARED} runs` : `Compare ${chosen.size || ""} runs`;
    };
    const box = (id, name) => {
      const input = made("input");
      input.type = "checkbox";
      input.setAttribute("aria-label", `compare ${name}`);
      input.addEventListener("change", () => { if (input.checked) chosen.add(id); else chosen.delete(id); update(); });
      return input;
    };
    const more = async () => {
      const rows = await self.load(`runs-${next}`);
      next += 1;
      at("rows").append(...rows.map(([id, name, cluster, page, began, module, mpi, tags, note, report]) => {
        return row([
          cell(box(id, name)), cell(report ? link(name, `reports/${id}.html`) : name), cell(link(cluster, `clusters/${page}.html`)), cell(date(began)),
          cell(module), cell(mpi), cell(tags.join(", ")), cell(note, "prose"),
        ], [id, name, cluster, date(began), module, mpi, ...tags, note].join(" "));
      }));
      at("more").hidden = next >= pieces;
      applyFilter();
      done();
    };
    at("more").addEventListener("click", more);
    at("compare").addEventListener("click", () => { location.href = `compare.html#${[...chosen].join(",")}`; });
    update();
    const machines = await self.load("published");
    at("historic").hidden = !machines.length;
    at("machines").append(...machines.map(([id, name, page, source, network, figures]) => row([
      cell(box(id, name)), cell(link(name, `clusters/${page}.html`), "prose"), cell(network, "prose"),
      cell(String(figures), "number"), cell(source, "prose"),
    ])));
    await more();
  };

  // What stands above the column of each run: its name, and whose it is or where its figures are printed.
  async function described(ids, pieces) {
    const known = new Map((await self.load("published")).map(([id, name, , source]) => [id, [name, `published in ${source}`]]));
    for (let number = 0; number < pieces && ids.some((id) => !known.has(id)); number += 1) {
      for (const [id, name, cluster, , began] of await self.load(`runs-${number}`)) {
        if (ids.includes(id)) known.set(id, [name, `${cluster}, ${date(began)}`]);
      }
    }
    return known;
  }

  self.compare = async (pieces) => {
    const ids = location.hash.slice(1).split(",").filter((id) => /^[0-9a-f]{16}$/.test(id)).slice(0, MOST_COMPARED);
    addEventListener("hashchange", () => location.reload());
    if (!ids.length) { applyFilter(); done(); return; }
    at("none").hidden = true;
    const known = await described(ids, pieces);
    const cases = new Map((await self.load("cases")).map((one) => [one[0], one]));
    const figures = await Promise.all(ids.map((id) => self.load(`run-${id}`)));
    const byCase = new Map();
    figures.forEach((list, run) => list.forEach((one) => {
      if (!byCase.has(one[0])) byCase.set(one[0], []);
      byCase.get(one[0])[run] = one;
    }));
    const head = (content, kind) => {
      const element = made("th", content, kind);
      element.scope = "col";
      return element;
    };
    at("head").replaceChildren(head("case"), ...ids.map((id) => {
      const [name, whose] = known.get(id) ?? [id, "unknown"];
      return head([name, line(), whose], "number");
    }));
    const most = (runs) => runs.filter(Boolean).length;  // what most runs have comes first
    at("rows").replaceChildren(...[...byCase].sort((one, other) => most(other[1]) - most(one[1])).map(([id, runs]) => {
      const [, benchmark, label, metric, better] = cases.get(id) ?? [id, "", id, "", "lower"];
      const cells = ids.map((_, run) => compared(runs[run], runs[0], run > 0, better));
      return row([cell(made("span", `${label}: ${metric}`), "prose case"), ...cells], `${benchmark} ${label} ${metric}`);
    }));
    applyFilter();
    done();
  };

  // A figure, and its ratio to the first run's: colored where the intervals do not overlap.
  function compared(one, base, isOther, better) {
    if (!one) return cell("–", "number");
    const figure = cell(one[4], "number");
    if (one[5]) figure.append(line(), made("span", `published, ${one[5]}`, "quiet"));
    if (!isOther || !base || !(base[1] > 0)) return figure;
    const bounded = [one[2], one[3], base[2], base[3]].every((value) => value !== null);
    const apart = bounded && (one[2] > base[3] || one[3] < base[2]);
    const worse = (one[1] > base[1]) === (better === "lower");
    const verdict = apart ? (worse ? "worse" : "better") : bounded ? "intervals overlap" : "without an interval";
    const ratio = `${(one[1] / base[1]).toPrecision(3)} × ${verdict}`;
    figure.append(line(), made("span", ratio, apart ? verdict : "quiet"));
    return figure;
  }

  // Runs in progress, as the server tells every second.
  self.live = () => {
    const shown = (run) => {
      const bar = made("progress");
      bar.max = run.visits;
      bar.value = run.done;
      bar.setAttribute("aria-label", `progress of ${run.name}`);
      const findings = run.findings.map(({ severity, title }) => made("li", `${severity}: ${title}`));
      const section = made("section", [
        made("h2", run.name), made("p", `${run.module}, since ${new Date(1000 * run.began).toISOString().slice(0, 19).replace("T", " ")} UTC`, "muted"), bar,
        made("p", `${run.done} of ${run.visits} measurements of cases, ${run.launches} of ${run.all_launches} launches${run.now ? `; now: ${run.now}` : ""}`),
      ]);
      if (findings.length) section.append(made("p", "Found so far:"), made("ul", findings));
      return section;
    };
    const source = new EventSource(`${self.root}events`);
    source.addEventListener("message", ({ data }) => {
      const runs = JSON.parse(data);
      at("state").textContent = runs.length ? "" : "No run is in progress.";
      at("live").replaceChildren(...runs.map(shown));
      done();
    });
    source.addEventListener("error", () => { at("state").textContent = "The server does not answer."; });
  };

  self[start.page](start.argument);
  return self;
})();
