"""The published product on three clusters beside a run of known truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpcscope.lab import description
from hpcscope.models.published.observed import counted
from hpcscope.models.published.overview import ComparedValue
from hpcscope.models.published.reference import load
from hpcscope.samples.records import LaunchRecord
from hpcscope.samples.samples import CaseSamples, Samples, Times
from hpcscope.statistics.summary import Summary
from hpcscope.topology.declared import declared
from tests.models.curves import noisy, summary
from tests.models.published import reproduced

LAB = description.read("grid")[1]
TOPOLOGY = declared(LAB)
REFERENCE = load("grid-pdgemm")
PDGEMM = "algorithm.scalapack_pdgemm"
HOSTS = [host.removesuffix(":1") for host in REFERENCE.hosts]
MATRIX = 8 * 576**2


def time_of(seconds: float, benchmark: str = PDGEMM, transport: str = "default", **given: Any) -> Summary:
    parameters = {"n": 576, "block": 16, "grid_rows": 3, "grid_columns": 0, "grid_order": "columns", **given}
    if benchmark != PDGEMM:
        parameters.setdefault("broadcast", "ring_modified")
    random = np.random.default_rng(round(1e6 * seconds))
    made = noisy(random, seconds, spread=0.001)
    one = summary(made, benchmark, "time_s", "max_rank", 24, transport, **parameters)
    return one.model_copy(update={"origin": "emulated"})


def times(observed: dict[str, list[float]]) -> Times:
    count = len(next(iter(observed.values())))
    zeros = np.zeros(count)
    return Times(
        cadence="isolated",
        synchronization="dissemination",
        operations=np.ones(count, dtype=np.int64),
        warmup=np.arange(count) < 1,
        ranks_kept=np.arange(2),
        elapsed_s=np.ones((2, count)),
        entry_s=None,
        valid=np.ones(count, bool),
        observed={name: np.array([values, zeros]) for name, values in observed.items()},
        extremes=None,
    )


def case_of(one: Summary, observed: dict[str, list[float]]) -> CaseSamples:
    return CaseSamples(
        case=one.case,
        origin=one.origin,
        launch=1,
        attempt=1,
        position=0,
        started_unix_s=0.0,
        duration_s=1.0,
        disturbances=None,
        status="ok",
        reason="",
        verification=None,
        work=None,
        times=[times(observed)] if observed else [],
        rank_states=[],
        synchronization=None,
        clock_step_s=1e-9,
    )


def launch_of(transport: str) -> LaunchRecord:
    processes = [{"rank": rank, "host": host, "pid": 1, "processors": [0]} for rank, host in enumerate(HOSTS)]
    clock = {"source": "tsc", "frequency_hz": 1e9, "resolution_s": 1e-9, "overhead_s": 0, "monotonic": True}
    return LaunchRecord.model_validate(
        {
            **{"record": "launch", "format": 2, "launch": 1, "attempt": 1, "ranks": 24, "origin": "emulated"},
            **{
                "transport": transport,
                "placement": "core",
                "started_unix_s": 0,
                "library": "",
                "mpi_standard": "",
            },
            "processes": processes,
            "clock": {**clock, "fallback_reason": ""},
            "clock_synchronization": {"method": "", "hosts": 24, "error_s": 0},
        }
    )


def rate_of(one: Summary) -> Summary:
    assert one.median is not None
    made = noisy(np.random.default_rng(2), 2 * 576**3 / one.median, spread=1e-6)
    rate = summary(
        made, one.benchmark, "flops_per_s", "max_rank", 24, one.transport, unit="flop/s", **one.parameters
    )
    return rate.model_copy(update={"origin": "emulated"})


def found(*cases: tuple[Summary, dict[str, list[float]]]) -> dict[str, ComparedValue]:
    launches = [launch_of("default"), launch_of("collectives")]
    samples = Samples(launches=launches, cases=[case_of(one, observed) for one, observed in cases], ends=[])
    times = [one for one, _ in cases]
    made = [*times, *map(rate_of, times)]
    return reproduced("grid-pdgemm", made, launches, topology=TOPOLOGY, samples=samples)


ALONG = {f"{here}>{there}_bytes": [9e9, 3.2e6, 3.2e6] for here, there in (("giza", "router"), ("router", "giza"))}
ACROSS = {"giza>router_bytes": [0.0, 6e6, 6e6], "router>giza_bytes": [0.0, 10.0e6, 10.2e6]}


def test_published_rates_and_loss_stand_beside_ours() -> None:
    along = [time_of(seconds, block=block) for seconds, block in ((3.1, 8), (3.0, 16), (3.05, 24))]
    made = found(*((one, ALONG) for one in along), (time_of(10.2, grid_order="rows"), ACROSS))
    fast = made["pdgemm, clusters along rows, block 160"]
    assert (fast.published, fast.unit, fast.origin) == (2.55e9, "flop/s", "emulated")
    assert fast.measured == pytest.approx(2 * 576**3 / 3.0, rel=0.01)
    assert fast.limit is not None
    assert fast.measured is not None
    assert fast.measured < fast.limit
    flat = made["pdgemm, fastest block / slowest"]
    assert (flat.published, flat.measured) == (pytest.approx(2.55 / 2.52), pytest.approx(3.1 / 3.0, rel=0.01))
    lost = made["pdgemm, lost by rows and columns exchanged"]
    assert lost.published == 0.7
    assert lost.predicted == pytest.approx(0.778, abs=0.01)
    assert lost.measured == pytest.approx(1 - 3.0 / 10.2, abs=0.01)
    seconds = made["pdgemm, rows and columns exchanged"]
    assert seconds.measured == pytest.approx(10.2, rel=0.01)
    assert seconds.limit == pytest.approx(3 * MATRIX / (6.7e6 / 8 * 1448 / 1514), rel=0.01)
    wan = made["pdgemm, rows and columns exchanged: bytes over the trunk of giza"]
    assert (wan.predicted, wan.measured) == (pytest.approx(3 * MATRIX, rel=0.01), pytest.approx(10.1e6))


def test_warm_up_and_unknown_links_do_not_count() -> None:
    case = case_of(
        time_of(4.0), {**ALONG, "elsewhere>router_bytes": [1.0, 1.0, 1.0], "compute_s": [1.0, 1.0, 1.0]}
    )
    trunks = counted([case], TOPOLOGY)
    assert set(trunks) == {"giza"}
    assert trunks["giza"].busier_bytes == pytest.approx(3.2e6)
    # A group at the ends of two trunks has no trunk of its own.
    both = {**ALONG, "giza>hpc_bytes": [1.0, 1.0, 1.0], "hpc>giza_bytes": [1.0, 1.0, 1.0]}
    assert set(counted([case_of(time_of(4.0), both)], TOPOLOGY)) == {"hpc"}


def test_where_messages_are_the_library_s_only_counters_tell() -> None:
    one = time_of(5.0, "algorithm.summa", "collectives", broadcast="library")
    made = found((one, ALONG))
    trunk = made["SUMMA by topology-aware MPI_Bcast, clusters along rows: bytes over the trunk of giza"]
    assert (trunk.predicted, trunk.measured) == (None, pytest.approx(3.2e6))
    assert made["SUMMA by topology-aware MPI_Bcast, clusters along rows"].limit == pytest.approx(
        3.2e6 / (6.7e6 / 8 * 1448 / 1514)
    )
    assert made["SUMMA by MPI_Bcast, clusters along rows"].measured is None


def test_without_a_run_only_what_was_published_is_told() -> None:
    made = found()
    printed = [row.published for row in made.values() if row.published is not None]
    assert printed == [2.52e9, 2.55e9, 2.55e9, pytest.approx(2.55 / 2.52), 0.7]
    assert all(row.measured is None and row.origin == "published" for row in made.values())
