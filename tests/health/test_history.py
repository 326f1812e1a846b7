"""Nodes beside their own past: slower ones are named with dates, and equal ones are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpcscope.engine import health as engine
from hpcscope.health import history
from hpcscope.health.records import HealthFile
from hpcscope.health.slow_nodes import below_past
from hpcscope.health.verdict import BAD, SUSPECT, judge
from hpcscope.rundirectory import write_json
from tests.health.recorded_fleet import FACTS, Change, on, record, slower
from tests.health.test_verdict import evidence, verdicts

DAY_S = 86400


def checks(count: int = 6, nodes: int = 12) -> list[HealthFile]:
    """Earlier checks of the same nodes, on as many days."""
    random = np.random.default_rng(4)
    return [moved(record(nodes, seed=int(random.integers(1000))), -day * DAY_S) for day in range(1, count + 1)]


def moved(made: HealthFile, seconds: float) -> HealthFile:
    return made.model_copy(update={"started_unix_s": made.started_unix_s + seconds})


def seen(now: HealthFile, before: list[HealthFile]) -> dict[str, str]:
    return verdicts(judge(now, (), history.evidence(now, history.pasts(before, now))))


def everyone(factor: float) -> Change:
    return slower(factor, "arithmetic", {f"n{number}" for number in range(1, 13)})


def test_nodes_as_they_were_are_healthy() -> None:
    assert seen(record(seed=99), checks()) == {}


def test_a_node_that_became_slower_is_bad_also_where_it_was_the_fastest() -> None:
    # 20 % faster than its peers before, as fast as they are now: only its own past tells.
    before = [slower(0.8, "arithmetic", {"n3"})]
    past = [made.model_copy(update={"visits": [before[0](visit) for visit in made.visits]}) for made in checks()]
    now = record()
    assert seen(now, []) == {}
    assert seen(now, past) == {"n3": BAD}
    health = judge(now, (), history.evidence(now, history.pasts(past, now)))
    said = evidence(health, "n3")
    assert "20 % lower than the median of 6 checks from 2001-09-03 to 2001-09-08: 500 Gflop/s" in said


def test_all_that_became_slower_are_suspect() -> None:
    assert set(seen(record(change=everyone(1.3)), checks()).values()) == {SUSPECT}


def test_a_single_host_beside_its_past_is_suspect_at_most() -> None:
    past = checks(nodes=1)
    assert seen(record(1, change=everyone(1.3)), past) == {"n1": SUSPECT}
    assert seen(record(1), past) == {}


def test_what_changed_since_is_the_likely_cause() -> None:
    now = record(change=slower(1.3, "arithmetic", {"n2"}))
    now = now.model_copy(update={"visits": [on("n2", facts={**FACTS, "kernel": "7"})(v) for v in now.visits]})
    ((host, found),) = history.evidence(now, history.pasts(checks(), now))
    assert (host, found.cause) == ("n2", "changed since the last check: kernel: none -> 7")


def test_a_slowness_of_the_first_stage_alone_is_no_evidence() -> None:
    now = record(change=slower(1.3, "arithmetic", {"n2"}, (1,)))
    assert history.evidence(now, history.pasts(checks(), now)) == []
    unfinished = record(change=slower(1.3, "arithmetic", {"n2"}), stages=(1,))
    ((_, found),) = history.evidence(unfinished, history.pasts(checks(), unfinished))
    assert (found.verdict, found.text.endswith("not measured again")) == (SUSPECT, True)


@pytest.mark.parametrize("change", [{"origin": "measured"}, {"started_unix_s": 2e9}])
def test_other_origins_and_later_checks_are_no_past(change: dict[str, object]) -> None:
    others = [made.model_copy(update=change) for made in checks()]
    assert history.pasts(others, record()) == {}


def test_other_hardware_is_no_past() -> None:
    now = record(change=on("n2", facts={**FACTS, "cores": "16"}))
    assert set(history.pasts(checks(), now)) == set(now.hosts) - {"n2"}


def test_few_earlier_checks_tell_nothing() -> None:
    now = record(change=slower(2, "arithmetic", {"n2"}))
    assert history.evidence(now, history.pasts(checks(history.FEWEST_PAST - 1), now)) == []


def test_false_alarms_beside_the_past_are_rare() -> None:
    random = np.random.default_rng(8)
    alarms = sum(
        len(below_past(random.normal(0, 0.1, 20).tolist(), random.normal(0, 0.1, (20, 5)).tolist(), 0.01))
        for _ in range(1000)
    )
    assert alarms <= 20  # 10 are expected


def test_the_past_is_read_from_the_folder_of_runs(tmp_path: Path) -> None:
    for number, made in enumerate(checks()):
        (tmp_path / f"{number}-health").mkdir()
        write_json(tmp_path / f"{number}-health" / "health.json", made)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "health.json").write_text("{")
    (tmp_path / "now").mkdir()
    write_json(tmp_path / "now" / "health.json", record(change=slower(1.3, "arithmetic", {"n2"})))
    now, _, health = engine.read_judged(tmp_path / "now")
    assert [len(node.places["arithmetic", ""].costs) for node in engine.earlier(tmp_path, now).values()] == [
        6
    ] * 12
    assert any("of 6 checks from" in one.text for one in health.nodes[0].evidence)
    assert engine.earlier(tmp_path / "nowhere", now) == {}
