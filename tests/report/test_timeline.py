"""The timeline of a trace: what is packed is what was traced; the reader moves with keys and pointer."""

from __future__ import annotations

import base64
import html
import itertools
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcscope.engine import profile
from hpcscope.machine.machine import MpiInstallation
from hpcscope.programs.profiles.monitored_run import Options, run
from hpcscope.report.profile import page
from hpcscope.report.profile import timeline as timelines
from hpcscope.report.profile.contents import ProfileContents
from hpcscope.report.profile.timeline import CallTimeline, late_rank, timeline
from tests.installed_mpi import embedded  # noqa: F401
from tests.messages import mentions
from tests.monitored_ring import AS_ROOT, ROUNDS, compiled
from tests.profiles import synthetic
from tests.profiles.synthetic import Process, number
from tests.report import browser


def unpacked(text: str) -> list[int]:
    """Return the numbers of a column as the page's script reads them."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).reshape(4, -1)
    return [int(value) for value in (planes.T.astype(np.int64) << [0, 8, 16, 24]).sum(axis=1)]


class Read:
    """The calls of each rank and the messages, as they stand in the data of a page."""

    def __init__(self, data: dict[str, Any]) -> None:
        columns = {name: unpacked(text) for name, text in data["calls"].items()}
        self.calls: list[dict[str, int]] = []
        at = 0
        for rank, _, calls, *_ in data["ranks"]:
            begin = 0
            for place in range(at, at + calls):
                begin += columns["begin"][place]
                one = {name: column[place] for name, column in columns.items()}
                self.calls.append({**one, "rank": rank, "begin": begin, "end": begin + one["length"]})
            at += calls
        assert {len(column) for column in columns.values()} == {at}
        self.routines = [name for name, _ in data["routines"]]
        ends = zip(unpacked(data["messages"]["send"]), unpacked(data["messages"]["receive"]), strict=True)
        self.messages = [(self.calls[send], self.calls[receive]) for send, receive in ends]

    def routine(self, call: dict[str, int]) -> str:
        return self.routines[call["routine"]]

    def waits(self) -> list[int]:
        return [max(0, min(send["begin"], receive["end"]) - receive["begin"]) for send, receive in self.messages]


def analyzed(folder: Path, processes: list[Process]) -> ProfileContents:
    return profile.analyze(synthetic.monitored(folder, processes), search=False)


def drawn(contents: ProfileContents) -> CallTimeline:
    assert contents.trace is not None
    return timeline(contents.merged, contents.trace)


def test_every_call_and_message_of_a_real_program_is_packed(embedded: MpiInstallation, tmp_path: Path) -> None:  # noqa: F811
    ranks = 3
    program = compiled(embedded, tmp_path)
    command = [str(embedded.launcher), "--map-by", ":oversubscribe", "-n", str(ranks), str(program)]
    (tmp_path / "input").write_text("word\n")
    with (tmp_path / "input").open("rb") as words:
        ended = run(
            command, tmp_path / "run", Options(trace="0:1000"), environment=AS_ROOT, stdin=words, timeout_s=120
        )
    assert ended.code == 0
    contents = profile.analyze(tmp_path / "run", search=False)
    found = drawn(contents)
    read = Read(found.data)
    for rank in range(ranks):
        own = [one for one in read.calls if one["rank"] == rank]
        names = [read.routine(one) for one in own]
        once = ["MPI_Comm_rank", "MPI_Comm_size"]
        again = ["MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce"]
        assert names == once + ROUNDS * again
        assert all(one["end"] <= two["begin"] for one, two in itertools.pairwise(own))
        in_mpi_s = sum(one["length"] for one in own) * found.data["unit_s"]
        assert in_mpi_s == pytest.approx(contents.merged.processes[rank].mpi_s, rel=0.01)
    assert len(read.messages) == ranks * ROUNDS
    for send, receive in read.messages:
        assert (read.routine(send), read.routine(receive)) == ("MPI_Isend", "MPI_Waitall")
        assert receive["rank"] == send["partner"] - 1 == (send["rank"] + 1) % ranks
        assert send["begin"] < receive["end"]
        assert send["bytes"] == 4096
    order = {rank: [] for rank in range(ranks)}  # type: dict[int, list[int]]
    for send, receive in sorted(read.messages, key=lambda message: message[0]["begin"]):
        order[send["rank"]].append(receive["begin"])
    assert all(begins == sorted(begins) for begins in order.values())
    assert read.waits() == sorted(read.waits(), reverse=True)
    assert "60 messages have both ends" in found.caption
    assert "no arrow" not in found.caption


def two() -> list[Process]:
    """Rank 1 receives what rank 0 sends half a second late, and what was sent before the window."""
    a, b = synthetic.processes(2)
    for one in (a, b):
        one.header["trace"] = "0:5"
    a.event("MPI_Send", 1.0, 1.1, partner=1, direction=1, bytes=64)
    b.event("MPI_Recv", 0.2, 0.3, partner=0, direction=2, bytes=9)
    b.event("MPI_Recv", 0.5, 1.2, partner=0, direction=2, bytes=64)
    for at in range(10):
        a.event("MPI_Barrier", 2 + at / 100, 2.005 + at / 100)
    return [a, b]


def test_the_late_rank_is_named_and_what_has_no_other_end_is_said(tmp_path: Path) -> None:
    contents = analyzed(tmp_path, two())
    found = drawn(contents)
    assert found.data["late"] == 0
    assert any(mentions(text, "rank 0 ... 500 ms for its sends") for text in found.late), found.late
    assert mentions(found.caption, "1 message has both ends ... 1 send or receive has no arrow")
    spans = [[round(time * found.data["unit_s"]) for time in row[3:]] for row in found.data["ranks"]]
    assert spans == [[0, 5], [0, 5]]
    assert mentions(found.caption, "computation ... measured ... sampled")


def test_the_rank_that_comes_last_to_collectives_is_named(tmp_path: Path) -> None:
    processes = synthetic.processes(4)
    for one in processes:
        one.call("MPI_Allreduce", 0.1 if one.rank == 2 else 2.0, 100, 8)
        one.event("MPI_Allreduce", 1.0, 1.1)
    late, reasons = late_rank(analyzed(tmp_path, processes).merged)
    assert late == 2
    assert any(mentions(text, "MPI_Allreduce ... at least 5.70 s ... rank 2") for text in reasons), reasons


def test_short_calls_of_a_long_trace_become_one_with_their_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = analyzed(tmp_path, two())
    whole = drawn(contents)
    monkeypatch.setattr(timelines, "MOST_CALLS", 10)
    few = drawn(contents)
    calls, fewer = Read(whole.data).calls, Read(few.data).calls
    assert len(calls) == 13
    assert len(fewer) < 8
    for rank in (0, 1):
        assert sum(one["length"] for one in calls if one["rank"] == rank) == sum(
            one["length"] for one in fewer if one["rank"] == rank
        )
    assert sum(one["merged"] for one in fewer) == 13
    assert "drawn as one" in few.caption
    assert "drawn as one" not in whole.caption
    (message,) = Read(few.data).messages
    assert [one["rank"] for one in message] == [0, 1]
    monkeypatch.setattr(timelines, "MOST_MESSAGES", 0)
    assert mentions(drawn(contents).caption, "1 messages with the shortest waits are left out")


def test_a_message_whose_last_call_found_no_room_has_no_arrow(tmp_path: Path) -> None:
    a, b = synthetic.processes(2)
    a.event("MPI_Send", 1.0, 1.1, partner=1, direction=1)
    b.event("MPI_Irecv", 0.9, 0.91)
    b.event("MPI_Wait", 0.92, 1.2, partner=0, direction=2, operation=number("MPI_Irecv"), depth=1)
    contents = analyzed(tmp_path, [a, b])
    assert contents.trace is not None
    assert len(contents.trace.sends) == 1
    assert Read(drawn(contents).data).messages == []


def test_a_run_without_a_trace_says_how_to_get_one(tmp_path: Path) -> None:
    processes = synthetic.processes(2)
    for one in processes:
        for step in range(10):
            times = {"begin_tick": synthetic.tick(step), "end_tick": synthetic.tick(step + 1)}
            one.add("timeline", **times, mpi_ticks=3 * 10**8)
    text = page.render(analyzed(tmp_path, processes))
    assert "scope monitor --trace" in text
    assert "<canvas" not in text
    assert "DecompressionStream" not in text


STEPS = """
globalThis.requestAnimationFrame = (work) => setTimeout(work, 10);  // no frames without a screen
addEventListener("load", async () => {
  const later = () => new Promise((done) => setTimeout(done, 100));
  const place = document.getElementById("calls-in-time");
  while (!place.dataset.ready) await later();
  const canvas = place.querySelector("canvas");
  const steps = {};
  const seen = async (name) => {
    await later();
    steps[name] = [".view", ".told"].map((part) => place.querySelector(part).textContent);
  };
  const press = async (key) => { canvas.dispatchEvent(new KeyboardEvent("keydown", { key })); await seen(key); };
  const at = (x, y) => {
    const { left, top } = canvas.getBoundingClientRect();
    return { clientX: left + x, clientY: top + y, bubbles: true, cancelable: true };
  };
  const x = (seconds) => 98 + seconds / 5 * (canvas.clientWidth - 98);
  const pixels = () => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const color = ({ data, width }, seconds, row) => {
    const [across, down] = [x(seconds), 24 + 30 * row + 6].map((one) => Math.round(one * devicePixelRatio));
    const first = 4 * (down * width + across);
    return "#" + [...data.slice(first, first + 3)].map((part) => part.toString(16).padStart(2, "0")).join("");
  };
  await seen("whole");
  const drawn = pixels();
  steps.colors = [[0.4, 1], [0.6, 1], [1.05, 0], [4, 0]].map((place) => color(drawn, ...place));
  const point = (kind, seconds, row) => {
    const buttons = kind === "pointermove" ? 0 : 1;
    canvas.dispatchEvent(new PointerEvent(kind, { ...at(x(seconds), 24 + 30 * row + 15), buttons }));
  };
  point("pointermove", 0.7, 1);
  await seen("over a receive");
  point("pointermove", 3, 1);
  await seen("over computation");
  point("pointerdown", 1.05, 0);
  point("pointerup", 1.05, 0);
  await seen("click");
  const scrolled = canvas.dispatchEvent(new WheelEvent("wheel", { ...at(x(1), 40), deltaY: -300 }));
  await seen("wheel of the page");
  canvas.focus();
  steps.kept = [scrolled, canvas.dispatchEvent(new WheelEvent("wheel", { ...at(x(1), 40), deltaY: -300 }))];
  await seen("wheel");
  const keys = ["Home", "w", "Home", "+", "ArrowRight", "-", "Home", "ArrowDown", "n", "p", "ArrowUp"];
  for (const key of keys) await press(key);
  await press("Home");
  place.querySelector("[data-key='+']").click();
  await seen("button");
  canvas.dispatchEvent(new PointerEvent("pointerdown", { ...at(x(3), 40), buttons: 1, pointerId: 1 }));
  canvas.dispatchEvent(new PointerEvent("pointermove", { ...at(x(2), 40), buttons: 1, pointerId: 1 }));
  await seen("drag");
  document.documentElement.dataset.steps = JSON.stringify(steps);
});
"""
"""Moves through the timeline of `two` and keeps what it says after each step."""


@pytest.mark.skipif(not browser.CHROMIUM, reason="no Chromium on this machine")
def test_the_reader_moves_with_keys_and_pointer(tmp_path: Path) -> None:
    written = tmp_path / "report.html"
    written.write_text(browser.with_script(page.render(analyzed(tmp_path / "run", two())), STEPS))
    opened = browser.opened(written)
    assert opened.attribute("data-errors") is None
    assert opened.console == []
    steps = json.loads(html.unescape(re.search(r'data-steps="([^"]*)"', opened.dom)[1]))  # type: ignore[index]
    assert mentions(steps["whole"][0], "0.000 s to 5.000 s ... 13 calls, 1 message.")
    computation, receive, send = "#0072b2", "#009e73", "#d55e00"
    assert steps["colors"] == [computation, receive, send, computation]
    assert mentions(steps["over a receive"][1], "rank 1 on node1: MPI_Recv, 700 ms, 64 B, with rank 0")
    assert "waited 500 ms for a late send" in steps["over a receive"][1]
    assert steps["over computation"][1] == "rank 1: computation"
    assert mentions(steps["click"][1], "rank 0 on node1: MPI_Send, 100 ms")
    assert steps["kept"] == [True, False], "the wheel is the page's until the timeline has the focus"
    assert steps["wheel of the page"][0] == steps["whole"][0]
    assert window(steps["wheel"]) == pytest.approx((0.5, 3.0), abs=0.01)
    assert window(steps["w"]) == pytest.approx((0.29, 1.41), abs=0.01)
    assert mentions(steps["w"][1], "rank 1 ... MPI_Recv, 700 ms")
    assert window(steps["+"]) == pytest.approx((1.25, 3.75), abs=0.01)
    assert window(steps["ArrowRight"]) == pytest.approx((1.75, 4.25), abs=0.01)
    assert window(steps["-"]) == (0, 5)
    assert steps["Home"][0] == steps["whole"][0]
    assert mentions(steps["ArrowDown"][1], "rank 1 ... MPI_Recv, 700 ms")
    assert steps["n"][1] == steps["ArrowDown"][1], "it is the last call"
    assert mentions(steps["p"][1], "rank 1 ... MPI_Recv, 100 ms, 9 B")
    assert mentions(steps["ArrowUp"][1], "rank 0 ... MPI_Barrier")
    assert steps["button"][0] == steps["+"][0]
    assert window(steps["drag"]) == pytest.approx((1.75, 4.25), abs=0.01)


def window(step: list[str]) -> tuple[float, float]:
    """Return the seconds between which the timeline shows the calls after a step."""
    numbers = [
        float(text) * (1e-3 if unit == "ms" else 1) for text, unit in re.findall(r"([\d.]+) (m?s)", step[0])
    ]
    return numbers[0], numbers[1]
