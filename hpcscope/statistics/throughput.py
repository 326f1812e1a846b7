"""Summaries of the jobs of a mix: turn-around, throughput, utilization, efficiency; a round is a launch.

The efficiency follows the Effective System Performance benchmark: the core-seconds that the jobs take alone, over
the core-seconds of the mix (Wong, Oliker, Kramer, Kaltz & Bailey 2000, ESP: A System Utilization Benchmark). A job
in the mix is compared with the same job alone in the same round, because the machine changes from round to round.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.mix import ALONE, JOB, MIX, TOGETHER
from hpcscope.errors import UsageError
from hpcscope.plan.case import Case
from hpcscope.plan.placement import Placement
from hpcscope.samples.records import JobRecord, Origin, RoundRecord
from hpcscope.statistics.figures import describe
from hpcscope.statistics.summary import Summary, summary_of

HOUR_S = 3600.0
UNBOUND = Placement("none")

Rounds = Mapping[int, Sequence[float]]
"""Values of each round."""
Name = tuple[str, int]
"""A job and its ranks."""


def throughput_summaries(
    jobs: Sequence[JobRecord], rounds: Sequence[RoundRecord], catalog: Catalog
) -> list[Summary]:
    """Summarize the jobs, alone and in the mix, and the mix; jobs of a round that did not end are left out."""
    ended = {record.round: record for record in rounds}
    groups: dict[tuple[Name, str], list[JobRecord]] = defaultdict(list)
    for job_record in jobs:
        if job_record.round in ended:
            groups[(job_record.job, job_record.ranks), job_record.beside].append(job_record)
    names = list(dict.fromkeys(name for name, _ in groups))
    alone = {name: _times(groups[name, ALONE]) for name in names}
    cases = [summary for key, group in groups.items() for summary in _of_job(key, group, alone[key[0]], catalog)]
    return cases + (_of_mix(ended, groups, alone, catalog) if ended else [])


def _of_job(key: tuple[Name, str], group: Sequence[JobRecord], alone: Rounds, catalog: Catalog) -> list[Summary]:
    (job, ranks), beside = key
    times = _times(group)
    values: dict[str, Rounds] = {"turnaround_s": times}
    if beside == TOGETHER:
        values["slowdown"] = {
            number: [float(np.median(each)) / alone[number][0]]
            for number, each in times.items()
            if alone.get(number)
        }
    values["processor_s"] = _by_round(
        [(record.round, record.processor_s) for record in group if record.processor_s is not None]
    )
    case = Case.of(catalog, JOB, {"job": job, "beside": beside}, (ranks, "default", UNBOUND))
    reason = _failure(group)
    return [_summary(case, name, each, group[0].origin, reason, catalog) for name, each in values.items()]


def _of_mix(
    rounds: Mapping[int, RoundRecord],
    groups: Mapping[tuple[Name, str], Sequence[JobRecord]],
    alone: Mapping[Name, Rounds],
    catalog: Catalog,
) -> list[Summary]:
    first = next(iter(rounds.values()))
    mixed = [job for (_, beside), group in groups.items() if beside == TOGETHER for job in group]
    values: dict[str, dict[int, Sequence[float]]] = defaultdict(dict)
    for number, record in rounds.items():
        jobs = [job for job in mixed if job.round == number]
        if not jobs or record.elapsed_s <= 0:
            continue
        available_s = record.slots * record.elapsed_s
        values["jobs_per_hour"][number] = [len(jobs) * HOUR_S / record.elapsed_s]
        values["turnaround_mean_s"][number] = [float(np.mean([job.elapsed_s for job in jobs]))]
        used_s = [job.processor_s for job in jobs if job.processor_s is not None]
        if len(used_s) == len(jobs):
            values["utilization_share"][number] = [sum(used_s) / available_s]
        alone_s = [alone[record.job, record.ranks].get(number) for record in jobs]
        needed_s = [job.ranks * one_s[0] for job, one_s in zip(jobs, alone_s, strict=True) if one_s]
        if len(needed_s) == len(jobs):
            values["efficiency_share"][number] = [sum(needed_s) / available_s]
        values["cost_core_s"][number] = [available_s / len(jobs)]
    parameters: dict[str, Value] = {"mix": first.mix}
    case = Case.of(catalog, MIX, parameters, (first.slots, "default", UNBOUND))
    reason = _failure([job for group in groups.values() for job in group])
    return [_summary(case, name, each, first.origin, reason, catalog) for name, each in values.items()]


def _times(group: Sequence[JobRecord]) -> Rounds:
    return _by_round([(job.round, job.elapsed_s) for job in group if job.status == "ok"])


def _by_round(pairs: Sequence[tuple[int, float]]) -> Rounds:
    by_round: dict[int, list[float]] = defaultdict(list)
    for number, value in pairs:
        by_round[number].append(value)
    return by_round


def _failure(group: Sequence[JobRecord]) -> str:
    """Return why a group has no result: a job that fails may end too early to be compared."""
    failed = [job for job in group if job.status != "ok"]
    if not failed:
        return ""
    one = failed[0]
    return f"{len(failed)} of {len(group)} jobs failed; the first was {one.job} in round {one.round}: {one.reason}"


def _summary(case: Case, name: str, values: Rounds, origin: Origin, reason: str, catalog: Catalog) -> Summary:
    metric = catalog.metric(case.benchmark, name)
    if metric is None:
        known = ", ".join(metric.name for metric in catalog[case.benchmark].metrics)
        raise UsageError(f"benchmarks.json: {case.benchmark}: metric {name}: missing; declared: {known}")
    numbers = sorted(values)
    figures = describe([np.array(values[number]) for number in numbers], numbers=numbers)
    reason = reason or ("" if figures.median is not None else "no valid sample")
    return summary_of(case, metric, figures.as_dict(), reason, definition="observed", primary=True, origin=origin)
