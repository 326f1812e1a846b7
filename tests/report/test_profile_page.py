"""The page of a monitored program: everything is on it, it draws, it runs nothing that came as data."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from hpcscope.engine import profile
from hpcscope.programs.profiles.merged import merge
from hpcscope.report.figure import Figure
from hpcscope.report.profile import contents as profile_contents
from hpcscope.report.profile import functions as by_function
from hpcscope.report.profile import page as profile_page
from hpcscope.report.profile import tables
from hpcscope.report.profile import text as profile_text
from tests.messages import mentions
from tests.profiles import synthetic
from tests.report import browser

EVIL = "<script>document.documentElement.dataset.owned='yes'</script>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, golden_run: Path) -> Path:
    """A run with all that a page can show, and with a program whose name is markup."""
    return everything(tmp_path_factory.mktemp("monitored") / "run", golden_run)


def everything(run: Path, measured: Path) -> Path:
    """Write a monitored run with all that a page can show, compared with a measured one, and its page."""
    processes = synthetic.processes(6)
    for one in processes:
        one.header |= {"arguments": f'["/opt/{EVIL}"]', "depth": "2", "sample_hz": "100"}
        one.facts |= {"samples": 90, "samples_in_mpi": 40}
        one.add("samples", depth=2, frames=[80, 64], samples=50)
        one.call("MPI_Bcast", 0.5, 1000, 8192, site=0).call(
            "MPI_Allreduce", 0.2 if one.rank == 4 else 2.0, 1000, 64
        )
        one.call("MPI_Recv", 1.0, 1000, 100).partner((one.rank + 1) % 6, sent=(10, 1 << 20), receive_s=0.5)
        one.add("sites", depth=1, frames=[64, *[0] * 7]).add("modules", begin=1, end=128, path=EVIL.encode())
        one.add("waits", operation=synthetic.number("MPI_Irecv"), site=0, size_class=9, requests=5, ticks=10**8)
        one.file(f"/scratch/{EVIL}", writes=8, seconds=0.2)
        one.file(f"/scratch/{'deep/' * 9}out", "mpi-io", writes=8, seconds=0.3, collective=8)
        one.file(f"/scratch/{'deep/' * 9}out", "inside mpi-io", writes=4, size=1 << 21, seconds=0.3)
        one.add("regions", number=3, entries=1, ticks=10**9, mpi_ticks=10**8)
        for step in range(10):
            times = {"begin_tick": synthetic.tick(step), "end_tick": synthetic.tick(step + 1)}
            one.add("timeline", **times, mpi_ticks=3 * 10**8, user_s=0.9, resident_bytes=10**8, sent_bytes=10**5)
        one.event("MPI_Send", 1.0, 1.1, partner=(one.rank + 1) % 6, direction=1)
        one.event("MPI_Recv", 0.5, 1.1, partner=(one.rank - 1) % 6, direction=2)
    processes[2].state = 0
    run = synthetic.monitored(run, processes)
    profile_page.write(profile.analyze(run, measured))
    return run


def test_every_part_has_its_section(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    parts = (
        "time",
        "unfinished",
        "routines",
        "functions",
        "machine-comparison",
        "waiting",
        "waits",
        "late",
        "files",
        "messages",
        "course",
        "regions",
    )
    for name in (*parts, "findings", "figures-all", "provenance"):
        assert f'<section id="{name}">' in page, name
    assert set(browser.figures(page)) == {
        *("by-process", "by-routine", "by-size", "traffic-bytes", "traffic-messages", "traffic-receive_s"),
        *("course-shares", "course-memory", "course-by-rank", "functions-computation", "functions-mpi"),
    }


def test_the_flame_graph_has_every_function_below_its_caller(folder: Path) -> None:
    graph = by_function.graph(profile_contents.read(folder).merged)
    assert graph is not None
    caller, routine, function = (box for box in graph.boxes if box.name.endswith(("0x40", "MPI_Bcast", "0x50")))
    assert (caller.level, routine.level, function.level) == (0, 1, 1)
    # 6 processes: 0.5 s in MPI and 0.5 s of samples each; MPI without a place beside it.
    for part in ("MPI_Bcast", "3.00 s", "14 %", "6,000", "46.9 MiB"):
        assert part in routine.told
    for part in ("6.00 s", "27 %", "3.00 s"):
        assert part in caller.told
    left, width = (float(text.removesuffix("%")) for text in (routine.left, routine.width))
    assert float(function.left.removesuffix("%")) == pytest.approx(left + width, abs=0.01)
    assert 'class="flame"' in (folder / "report.html").read_text()


@pytest.mark.parametrize(("function", "depth", "remarks"), [("solve", 1, 0), ("mpi_sum", 2, 0), ("mpi_sum", 1, 1)])
def test_wrappers_of_mpi_are_remarked_on_where_their_callers_are_not_known(
    tmp_path: Path, function: str, depth: int, remarks: int
) -> None:
    (one,) = synthetic.processes(1)
    one.call("MPI_Bcast", 2.0, site=0).add("sites", depth=1, frames=[1 << 63])
    one.add("places", line=3, function=function.encode(), file=b"comms.py")
    one.header["depth"] = str(depth)
    found = profile_page.wrapped(merge(synthetic.write(tmp_path, [one])))
    assert len(found) == remarks
    assert all("such as mpi_sum (comms.py:3)" in text for text in found)


def test_files_are_told_by_layer(folder: Path) -> None:
    contents = profile_contents.read(folder)
    words = profile_page.sentences(contents)
    assert any(mentions(each, "96 MiB ... 2 files") for each in words), words
    shown = tables.files(contents.merged, 9)
    by_layer = {row[1]: dict(zip(shown.columns, row, strict=True)) for row in shown.rows}
    assert by_layer["MPI-IO"]["collective"] == "100 %"
    assert by_layer["POSIX in MPI-IO"]["per transfer"] == "2 MiB"
    sizes = tables.transfer_sizes(contents.merged)
    assert sizes.columns == ["size", "writes, POSIX", "writes, MPI-IO", "writes, POSIX in MPI-IO"]
    assert [row[1:] for row in sizes.rows] == [["48", "48", "0"], ["0", "0", "24"]]
    out = StringIO()
    profile_text.show(contents, Console(file=out, width=100))
    (line,) = (each for each in out.getvalue().splitlines() if "POSIX in MPI-IO" in each)
    assert line.startswith("…")
    assert "deep/out" in line


@pytest.mark.skipif(not browser.CHROMIUM, reason="no Chromium on this machine")
def test_it_draws_in_a_browser_and_data_stays_data(folder: Path) -> None:
    page = folder / "report.html"
    opened = browser.opened(page)
    assert opened.dom.count('data-drawn="yes"') == len(browser.figures(page.read_text()))
    assert opened.attribute("data-errors") is None
    assert opened.attribute("data-owned") is None
    assert opened.console == []
    assert opened.requests == []


def test_the_terminal_has_the_same_in_short(folder: Path) -> None:
    out = StringIO()
    profile_text.show(profile_contents.read(folder), Console(file=out, width=400))
    text = out.getvalue()
    for part in ("rank 2", "running", "MPI_Allreduce", "Comparison with", "waiting at least", "error", "Report"):
        assert part in text


def test_it_is_readable_without_block_characters(folder: Path) -> None:
    out = StringIO()
    screen = Console(file=out, width=400)
    for part in profile_text.parts(profile_contents.read(folder), blocks=False):
        screen.print(part)
    assert "█" not in out.getvalue()
    assert "####" in out.getvalue()


def test_one_color_has_one_meaning(folder: Path) -> None:
    contents = profile_contents.read(folder)
    figures = [one for section in profile_page._sections(contents) for one in section.figures]
    drawn = [trace for one in figures if isinstance(one, Figure) for trace in one.traces if "name" in trace]
    meanings: dict[int, set[str]] = {}
    for trace in drawn:
        meanings.setdefault(trace["meta"]["slot"], set()).add(
            trace["name"].removesuffix(" in GB/s").replace("sent", "send")
        )
    assert len(meanings) > 5
    assert all(len(names) == 1 for names in meanings.values()), meanings
    assert max(meanings) <= 10, "the style has no further colors"
