"""What findings about the measurement say: states of the machine, competitors, bindings, what is missing."""

from __future__ import annotations

from hpcscope.findings.results import Run
from hpcscope.findings.run import find_all
from hpcscope.samples.records import LaunchRecord
from tests.findings.evidence import evident
from tests.findings.faulty_runs import run_kinds, with_host, with_launches, with_samples
from tests.findings.kinds.measurement import below_minimum, cores, disturbed, half_done, slow_half


def test_the_states_of_the_machine_are_one_finding_with_all_that_they_bring_about(healthy_run: Run) -> None:
    run = slow_half(2.0)(healthy_run)
    bad = [one.model_copy(update={"relative_interval": 0.2}) for one in run.statistics]
    found = [one for one in find_all(run.replaced(statistics=bad)) if one.about == "measurement"]
    first = found[0]
    assert first.code == "machine-states"
    changed = run.replaced(statistics=bad)
    alone = run_kinds()["noisy_case"](changed)
    assert alone
    assert {one.title for one in alone} <= set(first.also)
    assert "noisy-case" not in {one.code for one in found}
    shares = [each.value for each in first.evidence if each.what.startswith("fraction of ")]
    assert len(shares) == 2


def test_a_competitor_that_explains_the_slow_state_is_part_of_that_finding(healthy_run: Run) -> None:
    run = slow_half(2.0)(healthy_run)
    half = len(run.raw_samples.launches) // 2
    disturbances = [disturbed(1, waited_s=waited_s)(run).raw_samples.cases for waited_s in (0.0, 0.05)]
    late = [one if one.launch > half else quiet for quiet, one in zip(*disturbances, strict=True)]
    (first, *others) = [one for one in find_all(with_samples(run, cases=late)) if one.about == "measurement"]
    assert first.code == "machine-states"
    taken = run_kinds()["processor_taken"](with_samples(run, cases=late))
    assert [one.code for one in taken] == ["processor-taken"]
    assert {one.title for one in taken} <= set(first.also)
    assert "processor-taken" not in {one.code for one in others}


def test_steal_time_is_told_apart_from_other_processes(healthy_run: Run) -> None:
    (found,) = run_kinds()["processor_taken"](disturbed(2, steal_s=0.2)(healthy_run))
    assert found.code == "processor-withheld"


def test_an_unfinished_run_says_what_is_missing(healthy_run: Run) -> None:
    (unfinished,) = run_kinds()["skipped_cases"](half_done(healthy_run))
    assert unfinished.code == "unfinished-run"
    assert unfinished.severity == "warning"


def test_cases_below_the_minimum_configuration_are_told_once(healthy_run: Run) -> None:
    run = below_minimum(healthy_run)
    assert run_kinds()["skipped_cases"](run) == []
    (finding,) = run_kinds()["below_minimum_configuration"](run)
    assert [each.value for each in finding.evidence] == ["2", 1]
    assert finding.about == "measurement"


def with_two_threads_per_core(run: Run) -> Run:
    processor = run.machine.hosts[0].processor.model_copy(update={"threads": 32, "usable": list(range(32))})
    return with_host(run, processor=processor)


def test_both_threads_of_a_core_are_a_binding(healthy_run: Run) -> None:
    def on_both(launch: LaunchRecord) -> LaunchRecord:
        processes = [p.model_copy(update={"processors": [p.rank, p.rank + 16]}) for p in launch.processes]
        return launch.model_copy(update={"processes": processes})

    run = with_launches(with_two_threads_per_core(healthy_run), on_both)
    assert run_kinds()["no_pinning"](run) == []
    assert run_kinds()["no_pinning"](cores([0, 1, 2])(run))


def test_ranks_on_one_processor_are_named(healthy_run: Run) -> None:
    found = run_kinds()["no_pinning"](cores([0])(healthy_run))
    assert [finding.code for finding in found] == ["shared-processor"]
    assert (found[0].where["host"], found[0].where["ranks"]) == ("node1", 16)
    evident(found[0], (16, ""))
