"""A run of the real program: every file that it leaves is as the schemas say, and the reader understands it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from hpcscope.catalog.catalog import read as read_catalog
from hpcscope.rundirectory import RunDirectory
from hpcscope.samples.reader import read
from tests.cli.scope_command import BRIEF, answered
from tests.schemas.test_schemas import GENERATOR, OF_A_RUN

CASES = [
    "node.timer clock=register ranks=1",
    "mpi.barrier ranks=2",
    "mpi.broadcast ranks=2 message_bytes=1Ki",
    "mpi.latency ranks=2 message_bytes=0,1Ki,64Ki",
    "algorithm.matmul_cannon ranks=1 n=24",
]


FEWEST = 20
SAMPLING = f"""[sampling]
synchronization = "dissemination"
minimum_repetitions = {FEWEST}
maximum_repetitions = 200
"""
"""On a busy machine ranks come late for windows, and time alone leaves too few samples."""


@pytest.fixture(scope="module")
def real_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    chosen = [word for case in CASES for word in ("--case", case)]
    (folder / "own.toml").write_text(SAMPLING)
    answer = answered(
        folder, "run", "own.toml", *BRIEF, "--budget", "0.2", "--launches", "2", "--output", "run", *chosen
    )
    assert answer.code == 0, answer
    return folder / "run"


@pytest.mark.parametrize("name", OF_A_RUN)
def test_every_file_is_valid(name: str, real_run: Path) -> None:
    validator = Draft202012Validator(GENERATOR.schema(name))
    if name == "samples":
        documents = [json.loads(line) for line in (real_run / "samples.jsonl").read_text().splitlines()]
    else:
        documents = [json.loads((real_run / f"{name}.json").read_text())]
    assert documents
    for document in documents:
        validator.validate(document)


def test_the_reader_understands_all_of_it(real_run: Path) -> None:
    samples = read(real_run, read_catalog(RunDirectory(real_run).benchmarks))
    assert samples.cut_line is None
    assert samples.failures == []
    assert {case.case.benchmark for case in samples.cases} == {case.split()[0] for case in CASES}
    assert all(case.times and case.times[0].counted.any() for case in samples.cases)


def test_every_headline_has_a_figure(real_run: Path) -> None:
    summaries = json.loads((real_run / "statistics.json").read_text())["summaries"]
    headlines = [s for s in summaries if s["primary"]]
    assert {s["benchmark"] for s in headlines} == {case.split()[0] for case in CASES}
    for s in headlines:
        assert s["valid"], s["reason"]
        assert s["launches"] == 2
        assert s["n"] >= 2 * FEWEST
        if s["ci_low"] is not None:  # what depends on its neighbors may be too little for an interval
            assert s["ci_low"] <= s["median"] <= s["ci_high"]
