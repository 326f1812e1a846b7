"""Steps of the system's clock change no duration, and a clock that no calendar knows is refused in one line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hpcscope import clock
from hpcscope.engine.run import begun_run
from hpcscope.rundirectory import RunDirectory, RunFile, read_json, replace_json
from tests.cli.scope_command import answered


@pytest.mark.parametrize("step_s", [-3600.0, 3600.0])
def test_a_step_of_the_clock_changes_no_duration(step_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    began_unix_s, began_s = clock.unix_s(), time.monotonic()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + step_s)
    monkeypatch.setattr(time, "monotonic", lambda: began_s + 5.0)
    assert clock.unix_s() - began_unix_s == pytest.approx(5.0, abs=1.0)


def test_a_run_ends_after_its_begin_also_on_a_clock_that_was_set_back(golden_copy: Path) -> None:
    directory = RunDirectory(golden_copy)
    run = read_json(directory.run, RunFile)
    later = run.model_copy(update={"started_unix_s": clock.unix_s() + 3600})
    replace_json(directory.run, later)
    begun_run.note_status(directory, "finished")
    assert read_json(directory.run, RunFile).finished_unix_s == later.started_unix_s


@pytest.mark.parametrize("year", [1969, 9999])
def test_a_clock_that_is_far_off_is_refused_in_one_line(
    year: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = time.struct_time((year, 12, 31, 23, 0, 0, 0, 365, 0))
    monkeypatch.setattr(time, "gmtime", lambda *_: shown)
    refusal = answered(tmp_path, "runs", "list").refusal()
    assert refusal.startswith(f"scope: the clock of this host: expected a year from 1970 to 2261, found {year}; ")
