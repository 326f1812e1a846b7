"""Slow hosts, pairs and links, from samples as the native program writes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hpcscope.findings.results import Run
from hpcscope.findings.run.network.slow_pair import find
from hpcscope.machine.machine import EmulatedCluster
from hpcscope.models.communication.pair_matrix import pair_matrices
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import LaunchRecord, Process
from hpcscope.samples.samples import CaseSamples, Floats, Samples, Times
from tests.declared import catalog
from tests.messages import mentions
from tests.models.test_pair_matrix import matrix

HOSTS = 6
REPETITIONS = 5


def rounds(times_s: Floats, launch: int, size: int, load: str, like: CaseSamples) -> list[CaseSamples]:
    """One launch of all rounds of a tournament, in which the pairs take these times."""
    count = len(times_s)
    made = []
    for number in range(count):
        partners = (number - np.arange(count)) % count
        round_trips = 2 * times_s[np.arange(count), partners] * (partners != np.arange(count))
        series = Times(
            cadence="isolated",
            synchronization="none",
            operations=np.full(REPETITIONS, 10),
            warmup=np.zeros(REPETITIONS, dtype=np.bool_),
            ranks_kept=np.arange(count),
            elapsed_s=np.repeat(10 * round_trips[:, None], REPETITIONS, axis=1),
            entry_s=None,
            valid=np.ones(REPETITIONS, dtype=np.bool_),
            observed={},
            extremes=None,
        )
        chosen = {"message_bytes": size, "round": number, "load": load}
        made.append(
            replace(
                like,
                case=Case.of(catalog(), "mpi.pairs", chosen, (count, "default", Placement("node"))),
                launch=launch,
                attempt=1,
                status="ok",
                times=[series],
            )
        )
    return made


def measured(run: Run, **matrices: Floats) -> Run:
    """A run of pairs: `short` and `long` are matrices of all launches."""
    like = next(case for case in run.raw_samples.cases if case.ok)
    sizes = {"short": 1, "long": 1 << 20}
    cases = [
        case
        for name, launches in matrices.items()
        for number, one in enumerate(launches, start=1)
        for case in rounds(one, number, sizes[name], "isolated", like)
    ]
    processes = [Process(rank=rank, host=f"h{rank}", pid=rank + 1, processors=[0]) for rank in range(HOSTS)]

    def with_hosts(launch: LaunchRecord) -> LaunchRecord:
        return launch.model_copy(update={"ranks": HOSTS, "processes": processes})

    samples: Samples = replace(
        run.raw_samples, cases=cases, launches=[with_hosts(x) for x in run.raw_samples.launches]
    )
    models = run.models.model_copy(update={"pairs": pair_matrices(samples, run.benchmarks)})
    return run.replaced(raw_samples=samples, models=models)


def random() -> np.random.Generator:
    return np.random.default_rng(5)


def test_the_matrix_is_read_back_from_the_rounds(healthy_run: Run) -> None:
    times_s = matrix(random(), HOSTS)
    (found,) = measured(healthy_run, short=times_s).models.pairs
    assert found.names == [f"h{rank}" for rank in range(HOSTS)]
    medians = np.median(times_s, axis=0)
    for i in range(HOSTS):
        for j in range(HOSTS):
            assert found.time_s[i][j] == (None if i == j else pytest.approx(medians[i, j]))
    assert find(measured(healthy_run, short=times_s)) == []


@pytest.mark.parametrize(
    ("fault", "code", "where"),
    [
        ({"host": (1, 1.5)}, "slow-host-messages", {"host": "h1"}),
        ({"pair": (0, 2, 1.5)}, "slow-pair", {"pair": "h0, h2"}),
        ({"cut": (2, 2.0)}, "slow-link", {"host": "h0, h1"}),
    ],
)
def test_what_is_slow_is_named(
    healthy_run: Run, fault: dict[str, object], code: str, where: dict[str, str]
) -> None:
    made = measured(healthy_run, short=matrix(random(), HOSTS, **fault), long=matrix(random(), HOSTS, **fault))  # type: ignore[arg-type]
    (finding,) = find(made)
    assert finding.code == code
    assert finding.where == {**where, "layer": "mpi"}
    assert finding.lost is not None
    assert finding.lost > 0.2


def test_in_a_lab_hosts_that_share_a_processor_are_no_group(healthy_run: Run) -> None:
    lab = EmulatedCluster(name="small", title="", links=[], relayed=[], faults=[])
    host = healthy_run.machine.hosts[0]
    processor = host.processor.model_copy(update={"usable": [0, 1]})
    hosts = [host.model_copy(update={"processor": processor})] * HOSTS
    machine = healthy_run.machine.model_copy(update={"lab": lab, "hosts": hosts})
    groups = matrix(random(), HOSTS, cut=(2, 2.0))
    assert find(measured(healthy_run, short=groups).replaced(machine=machine)) == []
    (finding,) = find(measured(healthy_run, short=groups, long=groups).replaced(machine=machine))
    assert (finding.code, "1 MiB" in finding.title) == ("slow-link", True)
    assert find(measured(healthy_run, short=groups))[0].code == "slow-link"


def test_a_host_whose_long_messages_alone_are_slow_has_a_slow_link(healthy_run: Run) -> None:
    made = measured(healthy_run, short=matrix(random(), HOSTS), long=matrix(random(), HOSTS, host=(3, 2.0)))
    (finding,) = find(made)
    assert (finding.code, finding.where["host"]) == ("slow-host-link", "h3")


def test_too_few_hosts_are_said_to_be_too_few(healthy_run: Run) -> None:
    like = next(case for case in healthy_run.raw_samples.cases if case.ok)
    cases = rounds(matrix(random(), 3)[0], 1, 8, "isolated", like)
    (found,) = pair_matrices(replace(healthy_run.raw_samples, cases=cases), catalog())
    assert mentions(found.reason, "3 ... 4"), "processes here, and processes that it needs"
