"""The two sides of an interleaved comparison: what is measured on each, with which program and how."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hpcscope.build import installations, native, registry
from hpcscope.build.native import PROGRAM
from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.pattern import matches_any
from hpcscope.engine import catalogs
from hpcscope.engine.run import begun_run
from hpcscope.engine.run.run import Settled, settle
from hpcscope.errors import UsageError
from hpcscope.launch.cluster import probe_cluster
from hpcscope.launch.site import site_of
from hpcscope.machine import discover
from hpcscope.machine.machine import NativeBuild
from hpcscope.plan import plan as planning
from hpcscope.plan.case import Batch, Key
from hpcscope.plan.case import key as key_of
from hpcscope.plan.experiment import resolve
from hpcscope.plan.plan import Plan, PlannedCase
from hpcscope.rundirectory import RunDirectory, read_json


@dataclass(frozen=True)
class SideCase:
    """A case of one side, with what a launch fixes for it."""

    batch: Batch
    case: PlannedCase

    @property
    def key(self) -> Key:
        """Its identity."""
        return key_of(self.case.benchmark, self.case.parameters, self.batch)


@dataclass(frozen=True)
class MeasuredSide:
    """One of two settings, builds or MPIs that are measured in turn."""

    name: str
    """The name of the side as it was given."""
    settled: Settled
    catalog: Catalog
    plan: Plan
    """Each batch once."""
    environment: Mapping[str, str | None] = field(default_factory=dict)
    """Environment variables for the launches of this side only; None: not set."""

    @property
    def cases(self) -> list[SideCase]:
        """All its cases, in the order in which they were asked for."""
        return [SideCase(launch.batch, case) for launch in self.plan.launches for case in launch.cases]


def settled_side(name: str, given: Mapping[str, Any]) -> MeasuredSide:
    """Return the side that a name stands for; the given settings choose its benchmarks if it does not.

    `name`: an experiment (.toml, HPL.dat); a run directory, for its cases, settings and build; a native program
    (build.program in machine.json of a run); else an MPI, as for --mpi. UsageError if it is none of these.
    """
    path = Path(name)
    if path.suffix in (".toml", ".dat"):
        experiment = resolve(path, given)
        return planned(name, settle(experiment, name))
    if path.is_dir() and RunDirectory(path).run.exists():
        return _of_run(RunDirectory(path.resolve()), given.get("only", ()))
    if path.name == PROGRAM:
        return _of_program(path, given)
    experiment = resolve(None, {**given, "mpi": name})
    return planned(name, settle(experiment, name))


def planned(name: str, settled: Settled, catalog: Catalog | None = None) -> MeasuredSide:
    """Plan each batch of a settled experiment once, with this catalog, else with that of its program."""
    catalog = catalog or catalogs.of_program(settled.build)
    once = replace(settled.experiment, launches=1, seed=settled.experiment.seed or 0)
    return MeasuredSide(name, settled, catalog, planning.make(once, catalog, settled.cluster.place, name))


def _of_run(directory: RunDirectory, only: Collection[str]) -> MeasuredSide:
    """Take cases, settings and build of a run."""
    begun = begun_run.read(directory)
    build = _build_of_run(directory, begun)
    site = site_of(build.mpi, begun.experiment.launcher, str(directory.experiment))
    cluster = probe_cluster(site)
    machine = discover.machine(cluster.hosts, build, begun.machine.lab, site.interface)
    seen: dict[Key, SideCase] = {}
    for launch in begun.plan.launches:
        for case in launch.cases:
            if not only or matches_any(case.benchmark, list(only)):
                seen.setdefault(launch.key(case), SideCase(launch.batch, case))
    batches: dict[Batch, list[PlannedCase]] = {}
    for side_case in seen.values():
        batches.setdefault(side_case.batch, []).append(side_case.case)
    plan = Plan(begun.plan.seed, begun.plan.module, planning.shuffled(batches, 1, begun.plan.seed))
    settled = Settled(begun.experiment, build, cluster, machine)
    return MeasuredSide(str(directory.path), settled, registry.load(build.program), plan)


def _build_of_run(directory: RunDirectory, begun: begun_run.BegunRun) -> NativeBuild:
    """Return the native program of a run: the same file if it still exists, else one of the same content."""
    mpi = installations.find(begun.compiler(directory))
    before = begun.machine.build
    assert before is not None
    if os.access(before.program, os.X_OK):
        return before
    build = native.build(mpi, catalogs.part_of(begun.plan))
    if build.fingerprint != before.fingerprint:
        raise UsageError(
            f"{directory.machine}: build.program = {before.program}: does not exist, and the program here differs"
        )
    return build


def _of_program(path: Path, given: Mapping[str, Any]) -> MeasuredSide:
    """Take the benchmarks of the given settings and the program of another build."""
    record = path.resolve().parent.parent / "build.json"
    if not record.is_file() or not os.access(path, os.X_OK):
        raise UsageError(f"{path}: must be a native program of a build cache (machine.json of a run names it)")
    build = read_json(record, NativeBuild).model_copy(update={"program": str(path.resolve())})
    experiment = resolve(None, {**given, "mpi": build.mpi.compiler})
    cluster = probe_cluster(site_of(build.mpi, experiment.launcher, str(path)))
    machine = discover.machine(cluster.hosts, build, interface=cluster.site.interface)
    settled = Settled(experiment, build, cluster, machine)
    return planned(str(path), settled, registry.load(build.program))


def in_common(a: MeasuredSide, b: MeasuredSide) -> list[tuple[SideCase, SideCase]]:
    """Return the pairs of cases of A and B to compare; UsageError if there is none.

    A collective on one rank communicates nothing and is left out. Equal cases form pairs. Cases of a benchmark
    that differ between the sides, for example in a parameter or in their placement, are paired in order if both
    sides have the same number of them.
    """
    cases_a, cases_b = ([case for case in side.cases if not _is_idle_collective(case, side)] for side in (a, b))
    of_b = {case.key: case for case in cases_b}
    pairs = [(case, of_b[case.key]) for case in cases_a if case.key in of_b]
    paired = {case.key for case, _ in pairs}
    for benchmark in dict.fromkeys(case.case.benchmark for case in cases_a):
        rest_a, rest_b = (
            [case for case in cases if case.case.benchmark == benchmark and case.key not in paired]
            for cases in (cases_a, cases_b)
        )
        if len(rest_a) == len(rest_b):
            pairs += zip(rest_a, rest_b, strict=True)
    if not pairs:
        raise UsageError(
            f"{a.name}, {b.name}: have no case in common; both must run the same benchmarks (collectives on at "
            "least two ranks)"
        )
    return pairs


def _is_idle_collective(side_case: SideCase, side: MeasuredSide) -> bool:
    """Return whether a case is a collective (timed from the first rank to the last) on a single rank."""
    ranks, _, _ = side_case.batch
    metrics = side.catalog[side_case.case.benchmark].metrics
    return ranks == 1 and any(metric.role == "result" and metric.definition == "global" for metric in metrics)
