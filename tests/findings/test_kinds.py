"""Every kind of finding: a context in which it must fire, and one in which it must not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scope.findings.run import find_all
from scope.findings.run.context import Context
from scope.plan.placement import Placement
from scope.rundirectory import Imported, ImportedFile, Lack, Skipped, Unread
from scope.samples.records import Disturbances, LaunchRecord, OverRanks
from scope.samples.samples import CaseSamples, CutLine, DamagedLine, Times
from scope.simulation.record import Simulation, beside
from tests.findings.contexts import (
    Change,
    between_hosts,
    derived_again,
    exchanges,
    latencies,
    noisy,
    run_kinds,
    rung_summaries,
    summary,
    with_host,
    with_launches,
    with_samples,
    with_summaries,
    with_times,
    with_usable,
)
from tests.findings.test_algorithms import KINDS as ALGORITHM_KINDS
from tests.findings.test_lab import KINDS as LAB_KINDS
from tests.findings.test_linear_algebra import LINEAR_ALGEBRA_KINDS
from tests.findings.test_node import KINDS as NODE_KINDS
from tests.findings.test_storage import KINDS as STORAGE_KINDS
from tests.findings.test_tcp_start import KINDS as TCP_KINDS


def as_it_is(context: Context) -> Context:
    return context


def clock(**change: object) -> Change:
    def changed(launch: LaunchRecord) -> LaunchRecord:
        return launch.model_copy(update={"clock": launch.clock.model_copy(update=change)})

    return lambda context: with_launches(context, changed)


def clocks_apart(error_s: float, hosts: int = 2) -> Change:
    def changed(launch: LaunchRecord) -> LaunchRecord:
        apart = launch.clock_synchronization.model_copy(update={"error_s": error_s, "hosts": hosts})
        return launch.model_copy(update={"clock_synchronization": apart})

    return lambda context: with_launches(context, changed)


def cores(allowed: list[int] | None, placement: str = "core") -> Change:
    """Let all processes use these processors (None: as many as they are)."""

    def changed(launch: LaunchRecord) -> LaunchRecord:
        processes = [
            p.model_copy(update={"processors": p.processors if allowed is None else allowed})
            for p in launch.processes
        ]
        return launch.model_copy(update={"processes": processes, "placement": Placement.parse(placement)})

    return lambda context: with_launches(context, changed)


def sorted_times(times: Times) -> Times:
    order = np.argsort(times.elapsed_s.max(axis=0))
    order = np.concatenate([np.flatnonzero(times.warmup), order[~times.warmup[order]]])
    return replace(times, elapsed_s=times.elapsed_s[:, order])


def late(times: Times) -> Times:
    return replace(times, valid=np.arange(times.repetitions) % 3 != 0)


def without_failures(context: Context) -> Context:
    ok = [case for case in context.samples.cases if case.ok]
    return with_samples(context, cases=ok, failures=[])


def tight(context: Context) -> Context:
    return replace(context, summaries=[s.model_copy(update={"converged_share": 0.5}) for s in context.summaries])


def below_minimum(context: Context) -> Context:
    skipped = [
        Skipped(benchmark="mpi.barrier", case="ranks=4", reason="needs 4 slots, here are 2", resource="slots")
    ]
    lacks = [Lack(resource="slots", needed="4", found="2")]
    return replace(context, run=context.run.model_copy(update={"skipped": skipped, "lacks": lacks}))


def nothing_skipped(context: Context) -> Context:
    return replace(context, run=context.run.model_copy(update={"skipped": []}))


def slow_half(factor: float) -> Change:
    """The machine is slower by a factor in the later half of the run."""

    def change(context: Context) -> Context:
        half = len(context.samples.launches) // 2

        def slowed(case: CaseSamples) -> CaseSamples:
            if case.launch <= half:
                return case
            return replace(
                case, times=[replace(times, elapsed_s=factor * times.elapsed_s) for times in case.times]
            )

        return derived_again(
            context, replace(context.samples, cases=[slowed(case) for case in context.samples.cases])
        )

    return change


def disturbed(every: int, waited_s: float = 0.0, steal_s: float = 0.0, faults: int = 0) -> Change:
    """In every so-many-th visit of 0.1 s a rank waited for its processor or for pages, or lost processors."""

    def change(context: Context) -> Context:
        def seen(number: int, case: CaseSamples) -> CaseSamples:
            amount = 1 if number % every == 0 else 0
            counts = Disturbances(
                voluntary_switches=OverRanks(sum=50, maximum=50),
                involuntary_switches=OverRanks(sum=9, maximum=9),
                major_faults=OverRanks(sum=amount * faults, maximum=amount * faults),
                waited_s=amount * waited_s,
                steal_s=amount * steal_s,
            )
            return replace(case, visits=[replace(visit, disturbances=counts) for visit in case.visits])

        return with_samples(context, cases=[seen(n, case) for n, case in enumerate(context.samples.cases)])

    return change


def half_done(context: Context) -> Context:
    cases = [case for case in context.samples.cases if case.launch % 2]
    return nothing_skipped(with_samples(context, cases=cases))


def switched(n: int) -> float:
    return 1e-6 + n / 8e9 if n <= 4096 else 4e-6 + n / 12e9


def consistent(context: Context) -> Context:
    """Sendrecv is a little faster than the ping-pong, synchronous a little slower; longer is dearer."""
    standard = latencies(lambda n: 1e-6 + n / 8e9, seed=5)
    exchange = exchanges(lambda n: 1.9e-6 + n / 4.5e9, seed=6)
    synchronous = latencies(lambda n: 1.4e-6 + n / 8e9, seed=7, mode="synchronous")
    return with_summaries(context, [*standard, *exchange, *synchronous])


def inconsistent(context: Context) -> Context:
    standard = latencies(lambda n: 1e-6 + n / 8e9, seed=5)
    exchange = exchanges(lambda n: 2.6e-6 + n / 4e9, seed=6)
    return with_summaries(context, [*standard, *exchange])


def local_and_remote(local_s: float, remote_s: float) -> Change:
    """A pair on one host and a pair on two, at every size."""
    remote = [
        s.model_copy(update={"placement": Placement("node")})
        for s in latencies(lambda n: remote_s + n / 8e9, seed=8)
    ]
    return lambda context: with_summaries(context, [*latencies(lambda n: local_s + n / 8e9, seed=5), *remote])


def other_host(**processor: object) -> Change:
    """Two hosts, of which the second has another processor."""

    def change(context: Context) -> Context:
        first = context.machine.hosts[0]
        second = first.model_copy(
            update={"name": "other", "processor": first.processor.model_copy(update=processor)}
        )
        return replace(context, machine=context.machine.model_copy(update={"hosts": [first, second]}))

    return change


def rungs(*values: float) -> Change:
    return lambda context: with_summaries(context, rung_summaries(*values))


def on_a_link(rate_bits_per_s: float | None, *values: float) -> Change:
    """Rungs of 1 MiB over TCP between two hosts: 1.05 GB/s for 10 µs."""
    return lambda context: with_summaries(between_hosts(context, rate_bits_per_s), rung_summaries(*values))


# kind: (code, contexts in which it must fire, contexts in which it must not)
def with_imported(context: Context, unread: int = 2) -> Context:
    imported = Imported(
        files=[ImportedFile(name="osu.txt", sha256="0", programs=["OSU Micro-Benchmarks 7.4"])],
        missing=["the hosts"],
        unread=[Unread(file="osu.txt", line=1, text="Loading")] * min(unread, 1),
        unread_lines=unread,
    )
    return replace(context, run=context.run.model_copy(update={"imported": imported}))


def with_simulation(context: Context) -> Context:
    """Return the context of a run whose barrier takes twice the time in a simulation."""
    measured = [one for one in context.headlines if one.benchmark == "mpi.barrier"]
    twice = [one.model_copy(update={"median": 2 * (one.median or 0)}) for one in measured]
    record = Simulation(
        **{"format": 2, "of": "golden", "simulator": "SimGrid 3.32", "collectives": "openmpi", "changes": []},
        **{"inputs": [], "notes": [], "validation": beside(measured, twice, context.catalog)},
    )
    return replace(context, simulation=record)


KINDS: dict[str, tuple[str, list[Change], list[Change]]] = {
    "autocorrelation": ("autocorrelated-samples", [lambda c: with_times(c, sorted_times)], [as_it_is]),
    "bandwidth_below_layer": (
        "bandwidth-below-layer",
        [as_it_is, rungs(10e-6, 16e-6), rungs(10e-6, 10e-6, 0.9, 0.5e-4)],
        [rungs(10e-6, 10.5e-6)],
    ),
    "clock_error": (
        "clock-error",
        [clocks_apart(1e-6)],
        [as_it_is, clocks_apart(20e-9), clocks_apart(1e-6, hosts=1)],
    ),
    "cut_line": ("cut-line", [lambda c: with_samples(c, cut_line=CutLine(7, 100, '{"record"'))], [as_it_is]),
    "damaged_lines": (
        "damaged-lines",
        [lambda c: with_samples(c, damaged=[DamagedLine(7, "crc32 = 1: ...")])],
        [as_it_is],
    ),
    "imported": ("imported", [with_imported], [as_it_is]),
    "simulated": ("simulated", [with_simulation], [as_it_is]),
    "unread_lines": ("unread-lines", [with_imported], [as_it_is, lambda c: with_imported(c, unread=0)]),
    "failed_case": ("failed-case", [as_it_is], [without_failures]),
    "governor": (
        "frequency-governor",
        [lambda c: with_host(c, governor="powersave"), lambda c: with_host(c, governor="schedutil")],
        [as_it_is, lambda c: with_host(c, governor="")],
    ),
    "invalid_windows": ("late-windows", [lambda c: with_times(c, late)], [as_it_is]),
    "layer_bottleneck": (
        "layer-bottleneck",
        [on_a_link(10e9, 10e-6, 10.3e-6), on_a_link(100e9, 10e-6, 10.5e-6), on_a_link(10e9, 10e-6, 20e-6)],
        [
            as_it_is,
            on_a_link(None, 10e-6, 20e-6),
            on_a_link(10e9 * 1.78, 10e-6, 20e-6),
        ],
    ),
    "library_overhead": (
        "library-overhead",
        [as_it_is, rungs(10e-6, 14e-6)],
        [rungs(10e-6, 10.5e-6), rungs(10e-6, 9e-6)],
    ),
    "local_slower": (
        "local-pair-slower",
        [local_and_remote(1.3e-6, 1e-6)],
        [as_it_is, local_and_remote(1e-6, 1e-6), local_and_remote(1e-6, 8e-6)],
    ),
    "machine_busy": (
        "machine-busy",
        [lambda c: with_host(c, run_queue=6.0)],
        [
            as_it_is,
            lambda c: with_host(c, run_queue=1.0),
            lambda c: with_host(c, load=6.0, run_queue=0.0),
        ],
    ),
    "minimum_configuration": ("below-minimum-configuration", [below_minimum], [as_it_is]),
    "machine_states": ("machine-states", [slow_half(2.0), slow_half(1.4)], [as_it_is, slow_half(1.03)]),
    "missing_cases": ("skipped-cases", [as_it_is], [nothing_skipped]),
    "node_types": ("node-types", [other_host(model="another")], [as_it_is, other_host()]),
    "noisy_case": ("noisy-case", [as_it_is], [tight]),
    "operation_below_ping_pong": (
        "operation-below-ping-pong",
        [as_it_is, rungs(10e-6, 10e-6, 0.5)],
        [rungs(10e-6, 10e-6, 0.9)],
    ),
    "oversubscription": (
        "oversubscription",
        [lambda c: with_usable(c, 2), lambda c: with_usable(c, 16, quota=4.0)],
        [as_it_is],
    ),
    "pinning": (
        "no-pinning",
        [cores(list(range(16))), cores([0, 1], placement="none")],
        [as_it_is, cores([0, 1], placement="socket"), lambda c: with_usable(cores([0], "none")(c), 1)],
    ),
    "memory_swapped": (
        "memory-swapped",
        [disturbed(1, faults=200)],
        [as_it_is, disturbed(1, faults=60)],
    ),
    "processor_taken": (
        "processor-taken",
        [disturbed(4, waited_s=0.02), disturbed(1, waited_s=0.08)],
        [as_it_is, disturbed(8, waited_s=0.05), disturbed(4, waited_s=0.005), disturbed(4, steal_s=0.005)],
    ),
    "protocol_switch": (
        "protocol-switch",
        [as_it_is, lambda c: with_summaries(c, latencies(switched))],
        [lambda c: with_summaries(c, latencies(lambda n: 1e-6 + n / 8e9))],
    ),
    "self_consistency": ("self-consistency", [as_it_is, inconsistent], [consistent]),
    "timer": (
        "timer-",
        [clock(monotonic=False), clock(resolution_s=1e-6), clock(fallback_reason="no invariant counter")],
        [as_it_is],
    ),
}


PAIR_KINDS = {"slow_pairs", "slow_sample", "congestion", "buffer_bloat", "unfair_streams"}
PATH_KINDS = {"mtu_black_hole", "directions", "path_stops", "lost_packets"}
"""Tried in test_paths.py."""
APPLICATION_KINDS = {"all_to_all_bound", "latency_bound", "many_small_receives", "second_core"}
"""Tried in test_slow_pairs.py."""
COLLECTIVE_KINDS = {"odd_process_count", "linear_collective", "unequal_blocks"}
"""Tried in test_collective_kinds.py."""


def cases(which: int) -> list[object]:
    return [
        pytest.param(kind, entry[0], change, id=f"{kind}-{number}")
        for kind, entry in KINDS.items()
        for number, change in enumerate(entry[which])
    ]


@pytest.mark.parametrize(("kind", "code", "change"), cases(1))
def test_it_fires_where_it_must(kind: str, code: str, change: Change, golden_context: Context) -> None:
    found = run_kinds()[kind](change(golden_context))
    assert found
    assert any(finding.code.startswith(code) for finding in found)
    for finding in found:
        assert finding.title
        assert "  " not in finding.title
        assert finding.evidence
        assert finding.advice.endswith(".")
        assert finding.where


@pytest.mark.parametrize(("kind", "code", "change"), cases(2))
def test_it_stays_silent_where_it_must(kind: str, code: str, change: Change, golden_context: Context) -> None:
    assert [f.title for f in run_kinds()[kind](change(golden_context)) if f.code.startswith(code)] == []


def test_every_kind_is_tried() -> None:
    assert set(run_kinds()) == (
        set(KINDS)
        | set(ALGORITHM_KINDS)
        | NODE_KINDS
        | COLLECTIVE_KINDS
        | PAIR_KINDS
        | PATH_KINDS
        | LAB_KINDS
        | TCP_KINDS
        | {"slow_host"}
        | APPLICATION_KINDS
        | LINEAR_ALGEBRA_KINDS
        | set(STORAGE_KINDS)
    )


def test_worst_first(golden_context: Context) -> None:
    order = ["error", "warning", "advice", "information"]
    found = find_all(golden_context)
    places = [(finding.about == "measurement", order.index(finding.severity)) for finding in found]
    assert places == sorted(places)
    assert {about for about, _ in places} == {False, True}
    advice = [f.at_stake or 0.0 for f in found if f.severity == "advice" and f.about == "cluster"]
    assert advice == sorted(advice, reverse=True)
    assert advice[0] > 0


def test_findings_of_one_cause_are_one(golden_context: Context) -> None:
    found = find_all(golden_context)
    causes = [(finding.about, finding.cause) for finding in found if finding.cause]
    assert len(causes) == len(set(causes))
    alone = [finding for kind in run_kinds().values() for finding in kind(golden_context)]
    titles = sorted(title for finding in found for title in (finding.title, *finding.also))
    assert titles == sorted(finding.title for finding in alone)


def test_the_states_of_the_machine_are_one_finding_with_all_that_they_bring_about(golden_context: Context) -> None:
    context = slow_half(2.0)(golden_context)
    bad = [one.model_copy(update={"converged_share": 0.0, "autocorrelated": True}) for one in context.summaries]
    found = [one for one in find_all(replace(context, summaries=bad)) if one.about == "measurement"]
    first = found[0]
    assert first.code == "machine-states"
    assert "changed state once" in first.title
    assert "factor of up to 2" in first.title
    assert any("did not reach the target precision" in title for title in first.also)
    assert any("are correlated" in title for title in first.also)
    assert not {"noisy-case", "autocorrelated-samples"} & {one.code for one in found}
    shares = [each.value for each in first.evidence if each.what.startswith("share of the time")]
    assert len(shares) == 2


def test_a_competitor_that_explains_the_slow_state_is_part_of_that_finding(golden_context: Context) -> None:
    context = slow_half(2.0)(golden_context)
    half = len(context.samples.launches) // 2
    disturbances = [disturbed(1, waited_s=waited_s)(context).samples.cases for waited_s in (0.0, 0.05)]
    late = [one if one.launch > half else quiet for quiet, one in zip(*disturbances, strict=True)]
    (first, *others) = [one for one in find_all(with_samples(context, cases=late)) if one.about == "measurement"]
    assert first.code == "machine-states"
    assert any(title.startswith("Another process took a processor") for title in first.also)
    assert "processor-taken" not in {one.code for one in others}


def test_steal_time_is_told_apart_from_other_processes(golden_context: Context) -> None:
    (found,) = run_kinds()["processor_taken"](disturbed(2, steal_s=0.2)(golden_context))
    assert found.code == "processor-withheld"


def test_what_is_at_stake_is_the_loss_times_the_time_that_programs_spend_on_it(golden_context: Context) -> None:
    shares = {
        finding.where.get("layer"): (finding.at_stake or 0.0) / finding.lost
        for finding in find_all(golden_context)
        if finding.lost and finding.about == "cluster"
    }
    assert shares["algorithm"] == 1
    assert 0 < shares["mpi"] < 1
    assert shares["mpi"] == pytest.approx(shares["operation"])


def test_the_golden_run_s_findings(golden_context: Context) -> None:
    assert {finding.code for finding in find_all(golden_context)} == {
        "communication-outweighs",
        "failed-case",
        "self-consistency",
        "noisy-case",
        "operation-below-ping-pong",
        "bandwidth-below-layer",
        "protocol-switch",
        "library-overhead",
        "memory-shared",
        "skipped-cases",
    }


def test_a_switch_is_named_with_its_sizes(golden_context: Context) -> None:
    (switch,) = run_kinds()["protocol_switch"](golden_context)
    assert switch.where["last_before_bytes"] == 16384
    assert switch.where["first_after_bytes"] == 32768
    assert "above 16 KiB" in switch.title
    assert "btl_sm_eager_limit" in switch.advice


def test_a_switch_is_named_after_the_library_s_own_setting(golden_context: Context) -> None:
    def told(launch: LaunchRecord) -> LaunchRecord:
        return launch.model_copy(update={"settings": {"btl_sm_eager_limit": 4096, "btl_tcp_eager_limit": 65536}})

    context = with_summaries(with_launches(golden_context, told), latencies(switched))
    (switch,) = run_kinds()["protocol_switch"](context)
    assert switch.title.endswith("; the library's btl_sm_eager_limit is 4 KiB")
    assert ("the library's btl_sm_eager_limit", 4096) in [(e.what, e.value) for e in switch.evidence]
    assert "`--mca btl_sm_eager_limit BYTES` (now 4096)" in switch.advice
    assert "tcp" not in switch.advice
    assert ("launches with a break between the same sizes", "100 %") in [
        (e.what, e.value) for e in switch.evidence
    ]


def test_advice_depends_on_the_library(golden_context: Context) -> None:
    build = golden_context.machine.build
    assert build is not None
    mpich = build.model_copy(update={"mpi": build.mpi.model_copy(update={"name": "mpich"})})
    context = replace(golden_context, machine=golden_context.machine.model_copy(update={"build": mpich}))
    (switch,) = run_kinds()["protocol_switch"](context)
    assert "UCX_RNDV_THRESH" in switch.advice
    assert "btl_" not in switch.advice
    nameless = replace(golden_context, machine=golden_context.machine.model_copy(update={"build": None}))
    (switch,) = run_kinds()["protocol_switch"](nameless)
    assert "manual" in switch.advice


def test_an_unfinished_run_says_what_is_missing(golden_context: Context) -> None:
    (unfinished,) = run_kinds()["missing_cases"](half_done(golden_context))
    assert unfinished.code == "unfinished-run"
    assert unfinished.severity == "warning"


def test_cases_below_the_minimum_configuration_are_told_once(golden_context: Context) -> None:
    context = below_minimum(golden_context)
    assert run_kinds()["missing_cases"](context) == []
    (finding,) = run_kinds()["minimum_configuration"](context)
    assert "2 of 4 slots" in finding.title
    assert "1 case left out" in finding.title
    assert finding.about == "measurement"


def with_two_threads_per_core(context: Context) -> Context:
    processor = context.machine.hosts[0].processor.model_copy(update={"threads": 32, "usable": list(range(32))})
    return with_host(context, processor=processor)


def test_both_threads_of_a_core_are_a_binding(golden_context: Context) -> None:
    def on_both(launch: LaunchRecord) -> LaunchRecord:
        processes = [p.model_copy(update={"processors": [p.rank, p.rank + 16]}) for p in launch.processes]
        return launch.model_copy(update={"processes": processes})

    context = with_launches(with_two_threads_per_core(golden_context), on_both)
    assert run_kinds()["pinning"](context) == []
    assert run_kinds()["pinning"](cores([0, 1, 2])(context))


def test_ranks_on_one_processor_are_named(golden_context: Context) -> None:
    found = run_kinds()["pinning"](cores([0])(golden_context))
    assert [finding.code for finding in found] == ["shared-processor"]
    assert "processor 0 of node1" in found[0].title


@pytest.mark.parametrize(
    ("rate", "mpi_s", "layer", "severity"),
    [
        (10e9, 10.3e-6, "wire", "information"),
        (100e9, 10.5e-6, "protocol", "advice"),
        (10e9, 20e-6, "library", "advice"),
    ],
)
def test_the_layer_that_holds_back_is_named(
    rate: float, mpi_s: float, layer: str, severity: str, golden_context: Context
) -> None:
    (found,) = run_kinds()["layer_bottleneck"](on_a_link(rate, 10e-6, mpi_s)(golden_context))
    assert (found.where["layer"], found.severity) == (layer, severity)
    assert found.title.startswith(f"The {layer} limits long messages")
    limit, network, mpi = (evidence.value for evidence in found.evidence[:3])
    assert isinstance(limit, float)
    assert limit == pytest.approx(rate / 8 * 1448 / 1538)
    assert network == pytest.approx(2**20 / 1e-3, rel=0.02)
    assert mpi == pytest.approx(2**20 / (100 * mpi_s), rel=0.02)


def test_start_up_and_half_performance_are_told(golden_context: Context) -> None:
    context = between_hosts(golden_context, 25e9)
    findings = run_kinds()["layer_bottleneck"](with_summaries(context, context.summaries))
    (found,) = (one for one in findings if one.where["path"] == "TCP over eth0")
    assert found.where["layer"] == "protocol"
    # What the golden run's lines say: 6.5 µs at 1.5 GB/s, of which TCP has 5 µs.
    assert found.where["n_half_bytes"] == pytest.approx(9750, rel=0.05)
    assert "it is the protocol, with 76 % of the start-up" in found.title


def test_raw_frames_stand_in_for_a_wire_of_unknown_rate(golden_context: Context) -> None:
    context = between_hosts(golden_context, None)
    random = np.random.default_rng(4)
    given = {
        "protocol": "ethernet",
        "message_bytes": 1 << 20,
        "nodelay": "on",
        "wait": "polling",
        "flow": "credits",
    }
    rates = [2**20 / launch for launch in noisy(random, 0.95e-3, spread=0.002)]
    frames = summary(rates, "network.latency", "bandwidth_bytes_per_s", unit="B/s", work_bytes=1 << 20, **given)
    (found,) = run_kinds()["layer_bottleneck"](with_summaries(context, [*rung_summaries(10e-6, 10.3e-6), frames]))
    assert found.where["layer"] == "wire"
    assert "raw Ethernet" in found.evidence[0].what
