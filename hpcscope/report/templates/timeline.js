"use strict";
// The timeline of a trace: a row for each rank, an arrow for each message. Each column of pixels is stacked by the
// share of every kind of time in it. Sums over the calls give it for any width: no zoom draws more than the window has.
(async () => {
  const place = document.getElementById("calls-in-time");
  if (!place) return;
  const [canvas, seen, told] = ["canvas", ".view", ".told"].map((name) => place.querySelector(name));
  const [GUTTER, AXIS, MOST_ROWS, MOST_ARROWS, MOST_PARTED] = [98, 24, 48, 150, 3000];
  const NARROWEST = 200;  // units of time in the window
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("timeline").textContent);

  // Whole numbers as hpcscope/report/profile/timeline.py packs them.
  async function column(text) {
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = letters.charCodeAt(at);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const planes = new Uint8Array(await new Response(stream).arrayBuffer());
    const values = new Uint32Array(planes.length / 4);
    for (let at = 0; at < values.length; at += 1) {
      for (let plane = 0; plane < 4; plane += 1) values[at] += planes[plane * values.length + at] * 2 ** (8 * plane);
    }
    return values;
  }
  const columns = async (texts) => Object.fromEntries(await Promise.all(Object.entries(texts).map(async ([name, text]) => [name, await column(text)])));
  const [{ begin, length, merged, routine, bytes, partner }, { send, receive }] = await Promise.all([columns(data.calls), columns(data.messages)]);

  const slots = [...new Set(data.routines.map(([, slot]) => slot))].sort((a, b) => a - b);
  const kinds = slots.length;
  const kindOf = data.routines.map(([, slot]) => slots.indexOf(slot));
  const within = new Uint32Array(begin.length * kinds);  // time in each kind up to the end of each call of a rank
  const rowOf = new Uint16Array(begin.length);
  let first = 0;
  const rows = data.ranks.map(([rank, host, calls, from, to], row) => {
    const last = first + calls;
    for (let at = first; at < last; at += 1) {
      if (at > first) {
        begin[at] += begin[at - 1];
        for (let kind = 0; kind < kinds; kind += 1) within[at * kinds + kind] = within[(at - 1) * kinds + kind];
      }
      within[at * kinds + kindOf[routine[at]]] += length[at];
      rowOf[at] = row;
    }
    const made = { rank, host, first, last, from, to };
    first = last;
    return made;
  });

  const shown = Math.min(rows.length, MOST_ROWS);
  const tall = Math.max(12, Math.min(30, Math.floor(560 / shown)));
  const view = { begin: 0, end: data.end, top: 0 };
  let picked = null;  // a call and its row
  let wait = -1;  // the message whose wait is shown

  // How many calls, counted over all ranks, begin before a time; `at` are known to.
  function before(row, time, at) {
    let step = 1;
    while (at + step <= row.last && begin[at + step - 1] < time) { at += step; step *= 2; }
    for (; step >= 1; step /= 2) if (at + step <= row.last && begin[at + step - 1] < time) at += step;
    return at;
  }
  function spent(row, at, time, sums) {
    if (at === row.first) return sums.fill(0);
    for (let kind = 0; kind < kinds; kind += 1) sums[kind] = within[(at - 1) * kinds + kind];
    const beyond = begin[at - 1] + length[at - 1] - time;
    if (beyond > 0) sums[kindOf[routine[at - 1]]] -= beyond;
    return sums;
  }
  // Of each message: when it was sent and received, and how long its receiver waited for the send.
  const sent = send.map((call) => begin[call]);
  const received = receive.map((call) => begin[call] + length[call]);
  const late = (message) => Math.max(0, Math.min(sent[message], received[message]) - begin[receive[message]]);

  // Times in words.
  const UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
  const scaled = (seconds) => UNITS.find(([factor]) => Math.abs(seconds) >= factor) ?? UNITS[3];
  function lasting(time) {
    const [factor, name] = scaled(time * data.unit_s);
    return `${Number((time * data.unit_s / factor).toPrecision(3))} ${name}`;
  }
  function moment(time, step) {
    const [factor, name] = scaled(data.begin_s + view.end * data.unit_s);
    const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step * data.unit_s / factor) - 1e-9)));
    const number = ((data.begin_s + time * data.unit_s) / factor).toFixed(digits);
    return `${Number(number) ? number : number.replace("-", "")} ${name}`;
  }
  const grouped = (number) => number.toLocaleString("en");
  const counted = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
  function describe({ row, call }) {
    const { rank, host } = rows[row];
    if (call === null) return `rank ${rank}: computation`;
    const name = merged[call] > 1 ? `${merged[call]} calls, the longest ${data.routines[routine[call]][0]}` : data.routines[routine[call]][0];
    const moved = bytes[call] === 0xffffffff ? ", 4 GiB or more" : bytes[call] ? `, ${grouped(bytes[call])} B` : "";
    const other = partner[call] ? `, with rank ${partner[call] - 1}` : "";
    let waited = 0;
    for (let at = 0; at < receive.length; at += 1) if (receive[at] === call) waited = Math.max(waited, late(at));
    return `rank ${rank} on ${host}: ${name}, ${lasting(length[call])}${moved}${other}, from ${moment(begin[call], (view.end - view.begin) / 1000)} on`
      + (waited ? `; waited ${lasting(waited)} for a late send` : "");
  }

  // The drawing.
  const context = canvas.getContext("2d", { alpha: false });
  let image = null;
  function colors() {
    const style = getComputedStyle(root);
    const named = (name) => style.getPropertyValue(`--${name}`).trim();
    const number = (name) => {
      const [red, green, blue] = [1, 3, 5].map((at) => parseInt(named(name).slice(at, at + 2), 16));
      return (0xff000000 | blue << 16 | green << 8 | red) >>> 0;
    };
    return { named, card: number("card"), computation: number("series-0"), kinds: slots.map((slot) => number(`series-${slot}`)) };
  }
  function drawRow(pixels, width, top, height, row, palette) {
    const per = (view.end - view.begin) / width;
    let at = before(row, view.begin, row.first);
    let [past, sums] = [spent(row, at, view.begin, new Float64Array(kinds)), new Float64Array(kinds)];
    for (let x = 0; x < width; x += 1) {
      const time = view.begin + (x + 1) * per;
      at = before(row, time, at);
      spent(row, at, time, sums);
      if (time > row.from && time - per < row.to) {
        let share = 0;
        let y = 0;
        for (let kind = 0; kind <= kinds; kind += 1) {
          share += kind < kinds ? (sums[kind] - past[kind]) / per : 1;
          const end = Math.min(height, Math.round(share * height));
          const color = kind < kinds ? palette.kinds[kind] : palette.computation;
          for (; y < end; y += 1) pixels[(top + y) * width + x] = color;
        }
      }
      [past, sums] = [sums, past];
    }
  }
  function draw() {
    const sharp = devicePixelRatio || 1;
    const wide = Math.max(260, canvas.parentElement.clientWidth);
    const high = AXIS + shown * tall;
    const [width, height] = [Math.round((wide - GUTTER) * sharp), Math.round(shown * tall * sharp)];
    if (canvas.width !== Math.round(wide * sharp) || canvas.height !== Math.round(high * sharp)) {
      Object.assign(canvas, { width: Math.round(wide * sharp), height: Math.round(high * sharp) });
      Object.assign(canvas.style, { width: `${wide}px`, height: `${high}px` });
    }
    if (image?.width !== width || image.height !== height) image = context.createImageData(width, height);
    const palette = colors();
    const pixels = new Uint32Array(image.data.buffer).fill(palette.card);
    const visible = rows.slice(view.top, view.top + shown);
    visible.forEach((row, line) => {
      const top = Math.round((line * tall + 1) * sharp);
      drawRow(pixels, width, top, Math.round((line + 1) * tall * sharp) - 2 - top, row, palette);
    });
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = palette.named("card");
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.putImageData(image, Math.round(GUTTER * sharp), Math.round(AXIS * sharp));
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
    const x = (time) => GUTTER + (time - view.begin) / (view.end - view.begin) * (wide - GUTTER);
    const calls = drawNames(visible, wide, x, palette);
    context.save();
    context.beginPath();
    context.rect(GUTTER, AXIS, wide - GUTTER, high - AXIS);
    context.clip();
    const arrows = drawArrows(x, palette);
    if (picked?.call != null) {
      context.strokeStyle = palette.named("text");
      context.lineWidth = 2;
      context.strokeRect(x(begin[picked.call]), AXIS + (picked.row - view.top) * tall + 1, Math.max(2, x(begin[picked.call] + length[picked.call]) - x(begin[picked.call])), tall - 2);
    }
    context.restore();
    const step = (view.end - view.begin) / 1000;
    seen.textContent = `${moment(view.begin, step)} to ${moment(view.end, step)} after MPI_Init: ${counted(calls, "call")}`
      + (shown < rows.length ? ` of ranks ${visible[0].rank} to ${visible.at(-1).rank} of ${rows.length}` : "")
      + `, ${counted(arrows.all, "message")}${arrows.all > arrows.drawn ? `; arrows for the ${grouped(arrows.drawn)} with the longest waits` : ""}.`;
    place.dataset.ready = "yes";
  }
  // The ranks, the moments and, where there is room, each call by its name; returns the number of calls in view.
  function drawNames(visible, wide, x, palette) {
    context.font = `12px ${palette.named("sans")}`;
    context.textBaseline = "middle";
    const spans = visible.map((row) => [before(row, view.begin, row.first), before(row, view.end, row.first)]);
    const calls = spans.reduce((sum, [from, to]) => sum + to - from, 0);
    visible.forEach(({ rank }, line) => {
      const middle = AXIS + (line + 0.5) * tall;
      context.fillStyle = palette.named(rank === data.late ? "error" : "muted");
      context.textAlign = "right";
      context.fillText(rank === data.late ? `rank ${rank}, late` : `rank ${rank}`, GUTTER - 8, middle);
      if (calls > MOST_PARTED) return;
      context.textAlign = "left";
      for (let call = Math.max(spans[line][0] - 1, visible[line].first); call < spans[line][1]; call += 1) {
        const left = Math.max(GUTTER, x(begin[call]));
        const room = Math.min(wide, x(begin[call] + length[call])) - left;
        if (room < 3) continue;
        context.fillStyle = palette.named("card");
        if (left > GUTTER) context.fillRect(left, AXIS + line * tall, 1, tall);
        const name = data.routines[routine[call]][0].replace("MPI_", "");
        if (room > 7 * name.length + 6) context.fillText(name, left + 4, middle);
      }
    });
    context.fillStyle = palette.named("muted");
    context.textAlign = "left";
    const raw = (view.end - view.begin) * data.unit_s / Math.max(2, Math.floor((wide - GUTTER) / 130));
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw * 0.999);
    for (let tick = Math.ceil((data.begin_s + view.begin * data.unit_s) / step - 1e-9); ; tick += 1) {
      const time = (tick * step - data.begin_s) / data.unit_s;
      if (time > view.end) break;
      context.fillRect(x(time), AXIS - 7, 1, 7);
      const text = moment(time, step / data.unit_s);
      if (x(time) + context.measureText(text).width < wide - 4) context.fillText(text, x(time) + 4, AXIS - 13);
    }
    return calls;
  }
  // Messages come with the longest waits first; messages of the picked call are always drawn.
  function drawArrows(x, palette) {
    const [onTime, waited] = [[], []];
    const own = picked?.call ?? -1;
    let all = 0;
    for (let message = 0; message < send.length; message += 1) {
      if (sent[message] > view.end || received[message] < view.begin) continue;
      const from = send[message];
      const to = receive[message];
      const up = rowOf[from] - view.top;
      const down = rowOf[to] - view.top;
      if (up < 0 || down < 0 || up >= shown || down >= shown) continue;
      all += 1;
      if (all > MOST_ARROWS && own !== from && own !== to) continue;
      (late(message) > 0 ? waited : onTime).push([x(sent[message]), up, x(received[message]), down]);
    }
    for (const [list, color] of [[onTime, "text"], [waited, "error"]]) {
      context.strokeStyle = context.fillStyle = palette.named(color);
      context.lineWidth = 1;
      context.globalAlpha = list.length > 40 ? 0.6 : 1;
      const path = new Path2D();
      const heads = new Path2D();
      for (const [x0, up, x1, down] of list) {
        const [y0, y1] = [up, down].map((line) => AXIS + (line + 0.5) * tall);
        const turn = Math.atan2(y1 - y0, x1 - x0);
        path.moveTo(x0, y0);
        path.lineTo(x1, y1);
        heads.moveTo(x1, y1);
        for (const side of [-0.4, 0.4]) heads.lineTo(x1 - 7 * Math.cos(turn + side), y1 - 7 * Math.sin(turn + side));
      }
      context.stroke(path);
      context.fill(heads);
    }
    return { all, drawn: onTime.length + waited.length };
  }
  let asked = false;
  function again() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  }

  // The reader's moves.
  function move(from, span) {
    span = Math.min(data.end, Math.max(NARROWEST, span));
    view.begin = Math.min(data.end - span, Math.max(0, from));
    view.end = view.begin + span;
    again();
  }
  const pan = (share) => move(view.begin + share * (view.end - view.begin), view.end - view.begin);
  const zoom = (factor, time = (view.begin + view.end) / 2) => move(time - factor * (time - view.begin), factor * (view.end - view.begin));
  function scroll(top) {
    view.top = Math.min(rows.length - shown, Math.max(0, top));
    again();
  }
  function pick(row, call) {
    picked = { row, call };
    told.textContent = describe(picked);
    if (row < view.top || row >= view.top + shown) scroll(row - (shown >> 1));
    again();
  }
  function reach(row, call) {
    if (call < rows[row].first || call >= rows[row].last) return;
    if (begin[call] < view.begin || begin[call] + length[call] > view.end) {
      const span = Math.max(view.end - view.begin, 1.5 * length[call]);
      move(begin[call] + length[call] / 2 - span / 2, span);
    }
    pick(row, call);
  }
  const middleCall = (row) => Math.max(rows[row].first, before(rows[row], (view.begin + view.end) / 2, rows[row].first) - 1);
  function nextRow(step) {
    const row = picked ? Math.min(rows.length - 1, Math.max(0, picked.row + step)) : view.top;
    reach(row, middleCall(row));
  }
  function nextCall(step) {
    if (picked?.call == null) nextRow(0); else reach(picked.row, picked.call + step);
  }
  function nextWait() {
    wait = wait + 1 < send.length && late(wait + 1) > 0 ? wait + 1 : 0;
    if (!send.length || late(wait) === 0) { told.textContent = "No receive waited for a late send."; return; }
    const call = receive[wait];
    const span = Math.max(1.6 * length[call], NARROWEST);
    move(begin[call] + length[call] / 2 - span / 2, span);
    pick(rowOf[call], call);
  }
  const MOVES = {
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), ArrowUp: () => nextRow(-1), ArrowDown: () => nextRow(1),
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), Home: () => move(0, data.end),
    n: () => nextCall(1), p: () => nextCall(-1), w: nextWait,
  };
  canvas.addEventListener("keydown", (event) => {
    if (!MOVES[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    MOVES[event.key]();
  });
  place.querySelectorAll("button[data-key]").forEach((button) => button.addEventListener("click", () => MOVES[button.dataset.key]()));
  const timeAt = (event) => view.begin + (event.offsetX - GUTTER) / (canvas.clientWidth - GUTTER) * (view.end - view.begin);
  function under(event) {
    const row = view.top + Math.floor((event.offsetY - AXIS) / tall);
    if (event.offsetX < GUTTER || event.offsetY < AXIS || !rows[row]) return null;
    const time = timeAt(event);
    const call = before(rows[row], time, rows[row].first) - 1;
    if (time < rows[row].from || time > rows[row].to) return null;
    return { row, call: call >= rows[row].first && time <= begin[call] + length[call] ? call : null };
  }
  // A wheel belongs to the page until the reader is in the timeline.
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    zoom(2 ** (event.deltaY / 300), timeAt(event));
  }, { passive: false });
  let held = null;
  canvas.addEventListener("pointerdown", (event) => { held = { x: event.offsetX, y: event.offsetY, begin: view.begin, top: view.top, moved: false }; });
  canvas.addEventListener("pointermove", (event) => {
    if (event.buttons !== 1 || !held) {
      const found = under(event);
      if (found) told.textContent = describe(found);
      return;
    }
    held.moved ||= Math.abs(event.offsetX - held.x) + Math.abs(event.offsetY - held.y) > 4;
    if (!held.moved) return;
    canvas.setPointerCapture(event.pointerId);
    move(held.begin - (event.offsetX - held.x) / (canvas.clientWidth - GUTTER) * (view.end - view.begin), view.end - view.begin);
    scroll(held.top - Math.round((event.offsetY - held.y) / tall));
  });
  canvas.addEventListener("pointerup", (event) => {
    const found = held && !held.moved ? under(event) : null;
    held = null;
    if (found) pick(found.row, found.call);
  });
  canvas.addEventListener("dblclick", (event) => zoom(0.4, timeAt(event)));

  new ResizeObserver(again).observe(canvas.parentElement);
  new MutationObserver(again).observe(root, { attributeFilter: ["data-theme"] });
  addEventListener("beforeprint", draw);
  draw();
})();
