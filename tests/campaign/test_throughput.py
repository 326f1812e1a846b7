"""`scope throughput` as a person uses it: programs side by side, an interruption, the rest of the rounds."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from hpcscope.catalog.declared import declared
from tests.cli.scope_command import answered, start
from tests.held import Held
from tests.messages import mentions
from tests.patience import PATIENCE_S

MIX = """
name = "both"
rounds = 2
mpi = "embedded"
[[job]]
name = "sort"
benchmark = "algorithm.sort_psrs n=1Ki"
ranks = 2
[[job]]
name = "busy"
program = "sh -c '{hold}i=0; while test $i -lt 100000; do i=$((i+1)); done'"
weight = 2
"""


def test_a_mix_is_interrupted_resumed_and_shown(tmp_path: Path) -> None:
    assert "algorithm.sort_psrs" in declared().names
    held = Held(tmp_path)
    samples = tmp_path / "out" / "samples.jsonl"
    # Brackets, because the samples contain the words of the job, which must not match themselves.
    in_the_second_round = f"if grep -q :.[r]ound {samples}; then {held.words}; fi; "
    (tmp_path / "mix.toml").write_text(MIX.replace("{hold}", in_the_second_round))
    begun = start(tmp_path, "throughput", "mix.toml", "-o", "out", "--seed", "1")
    held.reached(begun)
    begun.send_signal(signal.SIGINT)
    _, errors = begun.communicate(timeout=PATIENCE_S)
    held.open()
    assert begun.returncode == 130, errors
    assert "scope throughput --resume out" in errors
    assert json.loads((tmp_path / "out" / "run.json").read_text())["status"] == "interrupted"
    assert mentions(answered(tmp_path, "throughput", "--resume", "out", "--seed", "1").refusal(), "seed")

    answer = answered(tmp_path, "throughput", "--resume", "out", "--json")
    assert answer.code == 0, answer.errors
    found = {
        (one["metric"], one["parameters"].get("job"), one["parameters"].get("beside")): one
        for one in json.loads(answer.output)
    }
    assert all(one["valid"] and one["n"] >= 2 for one in found.values())
    assert found["jobs_per_hour", None, None]["median"] > 0
    assert found["utilization_share", None, None]["median"] > 0
    busy = next(key for key in found if key[0] == "processor_s" and str(key[1]).startswith("busy"))
    assert found[busy]["median"] > 0
    records = [json.loads(line) for line in samples.read_text().splitlines()]
    ended = {one["round"] for one in records if one["record"] == "round"}
    assert len(ended) == 2
    for number in ended:
        kinds = [
            (one["job"].partition(":")[0], one["beside"])
            for one in records
            if one["record"] == "job" and one["round"] == number
        ]
        assert sorted(kinds) == [
            ("busy", "mix"),
            ("busy", "mix"),
            ("busy", "nothing"),
            ("sort", "mix"),
            ("sort", "nothing"),
        ]
    assert "For managers" in (tmp_path / "out" / "report.html").read_text()
    assert not (tmp_path / "out" / "jobs").exists()
