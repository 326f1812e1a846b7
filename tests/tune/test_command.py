"""`scope tune linpack` as a person would use it."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hpcscope.cli import dispatch
from hpcscope.plan import hpl
from hpcscope.plan.experiment import resolve
from tests.cli.scope_command import answered
from tests.messages import mentions, numbers

SCHEMAS = Path(__file__).parents[2] / "schemas"
SMALL = [
    "--n",
    "300",
    "--blocks",
    "32,64",
    "--trials",
    "2",
    "--launches",
    "1",
    "--ranks",
    "2",
    "--mpi",
    "embedded",
]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tuning on two processes that was done here; read only."""
    folder = tmp_path_factory.mktemp("tune")
    ended = answered(folder, "tune", "linpack", *SMALL, "--seed", "3", "--output", "here", "--oversubscribe")
    assert ended.code == 0, ended.errors
    told = ended.output.splitlines()
    assert tuple(numbers(" ".join(told[:2]))) == (2, 300), "processes and equations come first"
    assert "here/best.toml" in ended.output
    return folder / "here"


def test_the_record_has_what_was_predicted_and_measured(tuned: Path) -> None:
    record = json.loads((tuned / "tune.json").read_text())
    Draft202012Validator(json.loads((SCHEMAS / "tune.schema.json").read_text())).validate(record)
    assert len(record["predicted"]) == 2 * (2 * 2 + 2)
    tries = [each for part in record["rounds"] for each in part["tries"]]
    assert all(each["predicted_s"] > 0 and each["measured_s"]["value"] > 0 for each in tries)
    assert [part["stage"] for part in record["rounds"]] == ["screen", "sizes"], "300 equations are not divided"
    assert record["conclusion"]["chosen"] in [each["candidate"] for each in tries]
    assert record["conclusion"]["n"] == 300
    assert not record["conclusion"]["winner"], "one launch tells nothing apart"


def test_what_was_measured_is_in_the_ordinary_files_of_the_run(tuned: Path) -> None:
    record = json.loads((tuned / "tune.json").read_text())
    summaries = json.loads((tuned / "statistics.json").read_text())["summaries"]
    times = {
        (s["parameters"]["n"], s["parameters"]["block"], s["parameters"]["grid_rows"]): s["median"]
        for s in summaries
        if s["benchmark"] == "algorithm.linpack" and s["metric"] == "time_s" and s["ranks"] == 2 and s["primary"]
    }
    for part in record["rounds"]:
        for each in part["tries"]:
            one = each["candidate"]
            assert each["measured_s"]["value"] == times[each["n"], one["block"], one["rows"]]
    assert (tuned / "report.html").exists()


def test_the_chosen_settings_can_be_run_by_scope_and_by_hpl(tuned: Path) -> None:
    chosen = json.loads((tuned / "tune.json").read_text())["conclusion"]["chosen"]
    (case,) = resolve(tuned / "best.toml", {}).case
    (same,) = hpl.read(tuned / "HPL.dat")
    for given in (case.factors, {key: same[key] for key in case.factors}):
        words = {key: str(value[0] if isinstance(value, list) else value) for key, value in given.items()}
        assert words["n"] == "300"
        assert words["ranks"] == "2"
        assert words["block"] == str(chosen["block"])
        assert (words["grid_rows"], words["grid_columns"]) == (str(chosen["rows"]), str(chosen["columns"]))
        assert words["broadcast"] == chosen["broadcast"]
        assert words["swap"] == chosen["swap"]
        assert words["look_ahead"] == str(chosen["look_ahead"])


def test_a_tuning_goes_on_without_running_anything_twice(tuned: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(tuned, tmp_path / "run", symlinks=True))
    whole = json.loads((run / "tune.json").read_text())
    # As though it had been ended after the first round was chosen: its samples are there.
    first = whole["rounds"][0]
    unjudged = [{**each, "kept": None, "verdict": "", "measured_s": None} for each in first["tries"]]
    broken = {**whole, "rounds": [{**first, "tries": unjudged}], "conclusion": None}
    (run / "tune.json").write_text(json.dumps(broken))
    samples = (run / "samples.jsonl").read_bytes()
    ended = answered(tmp_path, "tune", "linpack", "--resume", "run", "--json")
    assert ended.code == 0, ended.errors
    assert json.loads((run / "tune.json").read_text()) == whole
    assert json.loads(ended.output) == whole
    assert (run / "samples.jsonl").read_bytes() == samples


def test_a_data_sheet_of_the_run(tuned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("show", [str(tuned), "--top500"]) == 0
    sheet = capsys.readouterr().out
    assert "R_max / R_peak, measured" in sheet
    assert "(n=1000, 2 ranks)" in sheet
    assert re.search(r"\b16: passed", sheet), "the bound on the residual"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["linpack", "--n", "3"], "--n 3: ... 32 ... 1000000"),
        (["linpack", "--blocks", "64,x"], "--blocks 64,x: ... 1 ... 4096"),
        (["linpack", "--blocks", "0"], "--blocks 0: "),
        (["linpack", "--memory-fraction", "1.5"], "--memory-fraction 1.5: ... 0% ... 95%"),
        (["linpack", "--solution-time", "0"], "--solution-time 0: ... 0s"),
        (["linpack", "--solution-time", "nan"], "--solution-time nan: ... 0s"),
        (["linpack", "--trials", "0"], "--trials 0: ... 1 ... 1000"),
        (["linpack", "--ranks", "0"], "--ranks 0: ... 1 ... 10000000"),
        (["linpack", "--resume", "nowhere"], "nowhere: "),
        (
            ["linpack", "--resume", "r", "--n", "500"],
            "--resume r: ... n ",
        ),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("tune", words) == 2
    answer = capsys.readouterr()
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    assert mentions(answer.err, said)


def test_an_ordinary_run_is_no_tuning(golden_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch("tune", ["linpack", "--resume", str(golden_run)]) == 2
    assert "tune.json: " in capsys.readouterr().err


def test_text_and_page_lead_with_the_chosen_settings(tuned: Path) -> None:
    label = json.loads((tuned / "tune.json").read_text())["conclusion"]["chosen"]
    text = (tuned / "tuning.txt").read_text()
    assert text.index(f": NB {label['block']}") < text.rindex("predictions")
    page = (tuned / "report.html").read_text()
    places = [
        page.index(f"Chosen: NB {label['block']}"),
        page.index('id="tuning-predicted"'),
        page.index('class="tiles"'),
    ]
    assert places == sorted(places)
