"""Outputs of other programs become runs: every figure, every line, nothing added."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.declared import declared
from hpcscope.cli import dispatch
from hpcscope.engine.imports import imported, names
from hpcscope.errors import UsageError
from hpcscope.exchange import imports
from hpcscope.exchange.imports.lines import decoded, lines
from hpcscope.findings.finding import Findings
from hpcscope.rundirectory import RunDirectory, RunFile, read_json
from hpcscope.statistics.summarise import read_summaries

LATENCY = """# OSU MPI Latency Test v5.9
# Size          Latency (us)
0                       0.25
1024                    0.63
"""


@pytest.fixture
def latency(tmp_path: Path) -> Path:
    file = tmp_path / "latency.txt"
    file.write_text(f"Loading openmpi/4.1.4\n{LATENCY}")
    return file


def test_a_run_says_what_was_printed_and_what_was_not(latency: Path, tmp_path: Path) -> None:
    run = imported(None, [latency], None, tmp_path / "run")
    first, second = read_summaries(run)
    assert (first.benchmark, first.parameters["message_bytes"], first.ranks) == ("mpi.latency", 0, 2)
    assert (first.median, second.median) == (pytest.approx(0.25e-6), pytest.approx(0.63e-6))
    assert (first.origin, first.printed, first.holds_for) == ("imported", "mean", "no interval")
    assert (first.p95, first.minimum, first.ci_low) == (None, None, None)
    said = read_json(RunDirectory(run).run, RunFile).imported
    assert said is not None
    assert any("repetitions" in one for one in said.missing)
    assert [(one.line, one.text) for one in said.unread] == [(1, "Loading openmpi/4.1.4")]
    assert (run / "imported" / "0001-latency.txt").read_bytes() == latency.read_bytes()
    assert (run / "report.html").is_file()


def test_outputs_of_the_same_case_are_launches(latency: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text(LATENCY.replace("0.25", "0.35") + LATENCY.replace("0.25", "0.30"))
    first = read_summaries(imported("osu", [latency, other], None, tmp_path / "run"))[0]
    assert first.median == pytest.approx(0.30e-6)
    assert first.launch_medians == pytest.approx([0.25e-6, 0.35e-6, 0.30e-6])
    assert first.launches == 3


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"hello\n", "format"),
        (b"\x7fELF\0\0", "text"),
        (b"HPLinpack benchmark input file\nInnovative\n", "HPL.*`scope run FILE`"),
        (b"j: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=12, BW=8MiB/s\n", "--output-format=json"),
        (b"3;fio-3.33;j;0;0;8192;315076;4923;26;0\n", "--output-format=json"),
        (b'{\n  "fio version" : "fio-3.33",\n  "jobs" : [\n', "truncated JSON of fio"),
        (
            b'{\n  "Version": "4.0.0",\n  "Command line": "./ior -w",\n  "tests": [\n',
            "truncated JSON of IOR",
        ),
        (
            b"   L M B E N C H  3 . 0   S U M M A R Y\nBasic system parameters\n",
            "a file of lmbench's directory results",
        ),
        (b"# OSU MPI Latency Test v5.9\n# Size   Latency (us)\n", "OSU"),
    ],
)
def test_a_file_without_figures_is_refused_and_leaves_nothing(content: bytes, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "output.txt"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=rf"{file}.*{reason}"):
        imported(None, [file], None, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_refused_output_among_others_is_not_understood(latency: Path, tmp_path: Path) -> None:
    latency.write_text(f"{latency.read_text()}3;fio-3.33;j;0;0;8192;315076;4923;26;0\n")
    run = imported(None, [latency], None, tmp_path / "run")
    said = read_json(RunDirectory(run).run, RunFile).imported
    assert said is not None
    assert [one.line for one in said.unread] == [1, 6]


def test_more_values_than_fit_into_memory_are_refused(
    latency: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hpcscope.engine.imports.MOST_VALUES", 1)
    with pytest.raises(UsageError, match=r"holds \d+ values, but at most 1 are allowed: import them in parts"):
        imported(None, [latency], None, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_an_unknown_format_is_named(latency: Path) -> None:
    with pytest.raises(UsageError, match=r"acme: .*\bosu\b"):
        imported("acme", [latency], None, None)


@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "".join(f"0: {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"[1,0]<stdout>:{line}\n" for line in text.splitlines()),
        lambda text: "".join(f" 3: {line}\n" for line in text.splitlines()),
        lambda text: "".join(f"[0] {line}\n" for line in text.replace("# Size", "# Size[0] ").splitlines()),
        lambda text: f"\x1b[1m{text}\x1b[0m",
        lambda text: text.replace("# Size", "  5 %\r 50 %\r# Size"),
    ],
    ids=["CRLF", "srun", "mpirun --tag-output", "srun of ten tasks", "mpiexec -l", "colors", "progress bar"],
)
def test_launchers_and_terminals_leave_no_trace(disguise) -> None:
    assert [line.text.strip() for line in lines(disguise(LATENCY))] == LATENCY.splitlines()


def test_a_numbering_is_no_label() -> None:
    text = "".join(f"{number}: line\n" for number in range(9))
    assert [line.text for line in lines(text)] == text.splitlines()


@pytest.mark.parametrize("content", ["é µs".encode(), "é µs".encode("latin-1"), "é µs".encode("utf-16")])
def test_encodings(content: bytes) -> None:
    assert decoded("file", content) == "é µs"


@pytest.mark.parametrize("name", imports.names())
def test_every_format_claims_only_its_own_output(name: str) -> None:
    format_ = imports.format_of(name)
    assert format_.TITLE
    assert not format_.claims(lines("Hello\n1 2 3\n# Size\n"))


def test_figures_without_ranks_ask_for_them(tmp_path: Path) -> None:
    figure = imports.PrintedFigure("mpi.barrier", {}, None, "time_s", (1e-6,), "mean", line=3)
    from hpcscope.engine.imports import _record

    with pytest.raises(UsageError, match=r"x:3: barrier: .* --ranks"):
        _record("x", "x:3", figure, declared(), None)
    assert _record("x", "x:3", figure, declared(), 4).ranks == 4


def test_declarations_of_foreign_benchmarks_are_valid() -> None:
    named = imports.parameter("job", "job", ["randread", "randwrite"])
    foreign = imports.declared("storage.x", "x", "", [imports.metric("rate", "1/s", "rate", "higher")], [named])
    assert Catalog([foreign]).described("storage.x", {"job": "randwrite"}) == "x, job randwrite"


def test_single_figures_make_no_finding_and_no_interval(tmp_path: Path) -> None:
    rows = "".join(f"{2**power:<10}{2.0 if power < 7 else 9.0 + power:.2f}\n" for power in range(14))
    file = tmp_path / "latency.txt"
    file.write_text(f"# OSU MPI Latency Test v7.4\n# Size  Latency (us)\n{rows}")
    run = imported(None, [file], None, tmp_path / "run")
    found = read_json(RunDirectory(run).findings, Findings).findings
    assert {one.code for one in found} == {"imported"}
    page = (run / "report.html").read_text()
    captions = re.findall(r'<p class="caption">([^<]*)', page)
    assert any("printed" in caption for caption in captions)
    assert not any("95 %" in caption for caption in captions)
    assert "every repetition" not in page
    assert "[95 % CI]" not in page
    assert ">as printed<" in page


def test_every_format_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("import", ["--help"]) == 0
    said = capsys.readouterr().out
    guide = Path("docs/how-to/exchange.md").read_text()
    for name in names():
        assert re.search(rf"^ +(\w+, )?{name}(, \w+)?  +\w", said, re.MULTILINE), name
        assert re.search(rf"^\| .*`{name}`", guide, re.MULTILINE), name
