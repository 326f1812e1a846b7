"""How large is the page of a million traced calls, and how fast is its timeline in a browser.

usage: python benchmarks/timeline.py [--ranks N] [--calls N] [--keep FOLDER] [--limits]

The calls are generated: pairs of ranks exchange messages after computation of random length, and one rank computes
longer. Wanted: at most 15 MB, a first paint within 2 s, and 30 frames per second while the reader moves and zooms.
Headless Chromium draws without a graphics processor. With `--limits` the exit code is 1 where one is missed.
"""

from __future__ import annotations

import argparse
import http.server
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Queue
from typing import Any

import numpy as np

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

from hpcscope.engine import profile  # noqa: E402
from hpcscope.report.profile import page  # noqa: E402
from tests.profiles import synthetic  # noqa: E402
from tests.profiles.synthetic import Process  # noqa: E402
from tests.report import browser  # noqa: E402

MOST_BYTES, MOST_PAINT_S, LEAST_FRAMES_PER_S = 15e6, 2.0, 30.0
PATIENCE_S = 120
LATENCY_NS, COMPUTATION_NS, LATE_RANK = 800, 9_000, 5

PLAY = """
addEventListener("load", async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const place = document.getElementById("calls-in-time");
  while (!place.dataset.ready) await frame();
  const drawn_s = performance.now() / 1e3;
  document.documentElement.style.scrollBehavior = "auto";
  place.scrollIntoView();
  for (let at = 0; at < 60; at += 1) await frame();
  const canvas = place.querySelector("canvas");
  const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
  const played = async (keys) => {
    const begun = performance.now();
    let before = begun;
    let longest = 0;
    for (const key of keys) {
      press(key);
      await frame();
      longest = Math.max(longest, performance.now() - before);
      before = performance.now();
    }
    return { frames_per_s: keys.length / (before - begun) * 1e3, longest_s: longest / 1e3 };
  };
  const many = (key, times) => Array(times).fill(key);
  const zoom = await played([...many("+", 12), ...many("-", 12), ...many("+", 12), ...many("-", 12)]);
  await played(many("+", 2));
  const pan = await played([...many("ArrowRight", 30), ...many("ArrowLeft", 30)]);
  const waits = await played(many("w", 60));
  const paint_s = performance.getEntriesByName("first-contentful-paint")[0].startTime / 1e3;
  const errors = document.documentElement.dataset.errors ?? "";
  const seen = place.querySelector(".view").textContent;
  const body = JSON.stringify({ paint_s, drawn_s, zoom, pan, waits, errors, seen });
  await fetch("/played", { method: "POST", body });
});
"""
"""Waits for the first drawing, zooms and moves with the keyboard, one key for each frame, and sends the times."""


def main() -> int:
    """Print the size of the page and its times; 1 where a limit is missed and `--limits` is given."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--ranks", type=int, default=16)
    arguments.add_argument("--calls", type=int, default=1_000_000)
    arguments.add_argument("--keep", type=Path, default=None)
    arguments.add_argument("--limits", action="store_true")
    asked = arguments.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary) / "run"
        write(folder, asked.ranks, asked.calls // asked.ranks)
        started_s = time.perf_counter()
        contents = profile.analyze(folder, search=False)
        analyzed_s = time.perf_counter()
        written = page.write(contents)
        size = written.stat().st_size
        print(f"{contents.merged.events} calls of {asked.ranks} ranks, {contents.merged.late.messages} messages")  # type: ignore[union-attr]
        print(f"analysis {analyzed_s - started_s:.1f} s, page {time.perf_counter() - analyzed_s:.1f} s")
        played = play(written.read_text())
    print(f"page {size / 1e6:.1f} MB (limit {MOST_BYTES / 1e6:g})")
    print(
        f"first paint {played['paint_s']:.2f} s (limit {MOST_PAINT_S:g}), timeline drawn {played['drawn_s']:.2f} s"
    )
    for name in ("zoom", "pan", "waits"):
        one = played[name]
        print(
            f"{name}: {one['frames_per_s']:.0f} frames/s (limit {LEAST_FRAMES_PER_S:g}),"
            f" longest {one['longest_s']:.3f} s"
        )
    print(played["seen"], played["errors"])
    kept = size <= MOST_BYTES and max(played["paint_s"], played["drawn_s"]) <= MOST_PAINT_S
    kept &= all(played[name]["frames_per_s"] >= LEAST_FRAMES_PER_S for name in ("zoom", "pan", "waits"))
    return int(asked.limits and not kept)


def write(folder: Path, ranks: int, calls: int) -> None:
    """Write the profiles of ranks that exchange messages in pairs, each with this many calls in its trace."""
    synthetic.ROWS["events"] = calls
    synthetic.monitored(folder, [])
    begins, ends, sends, partners = exchanges(ranks, calls)
    wall_s = float(ends.max()) / 1e9
    offset = dict(synthetic.layout())["events"]
    dtype, stride = synthetic.packed("events"), synthetic.STRIDES["events"]
    for rank in range(ranks):
        one = Process(rank=rank, ranks=ranks, wall_s=wall_s, header={"trace": "0:100"})
        data = bytearray(synthetic.contents(one, 1000 + rank))
        rows: np.ndarray[Any, Any] = np.ndarray(calls, dtype, data, offset, stride)
        rows["used"], rows["bytes"], rows["communicator"] = 1, 8192, 1
        rows["begin_tick"], rows["end_tick"] = (
            synthetic.FIRST_TICK + begins[:, rank],
            synthetic.FIRST_TICK + ends[:, rank],
        )
        rows["partner"], rows["direction"] = partners[:, rank], np.where(sends[:, rank], 1, 2)
        rows["routine"] = np.where(sends[:, rank], synthetic.number("MPI_Send"), synthetic.number("MPI_Recv"))
        (folder / "profiles" / f"{one.host}.{1000 + rank}.profile").write_bytes(data)


def exchanges(ranks: int, calls: int) -> tuple[np.ndarray[Any, Any], ...]:
    """Return begin and end in ns, whether it sends, and the partner, of each call of each rank.

    Every rank computes, then exchanges with one neighbor in the ring, then computes and exchanges with the other.
    """
    generator = np.random.default_rng(1)
    numbers = np.arange(ranks)
    now = np.zeros(ranks)
    begins, ends = np.zeros((2, calls, ranks), np.int64)
    sends, partners = np.zeros((calls, ranks), bool), np.zeros((calls, ranks), np.int32)
    for call in range(0, calls - 1, 2):
        other = (numbers + np.where((numbers + call // 2) % 2, 1, -1)) % ranks
        first = numbers < other
        longer = np.where((numbers == LATE_RANK) & (call % 64 == 0), 20, 1)
        now += generator.exponential(COMPUTATION_NS, ranks) * longer
        for step in range(2):
            sending = first if step == 0 else ~first
            begin = now.copy()
            now = np.where(sending, begin + LATENCY_NS / 2, np.maximum(begin, begin[other]) + LATENCY_NS)
            begins[call + step], ends[call + step] = begin, now
            sends[call + step], partners[call + step] = sending, other
            now = now + generator.exponential(300, ranks)
    return begins, ends, sends, partners


def play(text: str) -> dict[str, Any]:
    """Return what the page measures of itself in a browser."""
    body = browser.with_script(text, PLAY).encode()
    answers: Queue[dict[str, Any]] = Queue()

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            answers.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    quiet = [one for one in browser.QUIET if "virtual-time" not in one and "host-resolver" not in one]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        address = f"http://127.0.0.1:{server.server_port}/"
        words = [
            browser.CHROMIUM,
            *quiet,
            f"--user-data-dir={profile}",
            "--window-size=1280,900",
            "--remote-debugging-port=0",
        ]
        started = subprocess.Popen([*words, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return answers.get(timeout=PATIENCE_S)
        finally:
            started.terminate()
            started.wait()
            server.shutdown()


if __name__ == "__main__":
    sys.exit(main())
