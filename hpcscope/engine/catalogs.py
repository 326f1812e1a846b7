"""The benchmarks, known with or without a native program, and which part of that program a plan needs."""

from hpcscope.build import native, registry
from hpcscope.catalog.benchmark import Benchmark
from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.declared import declared
from hpcscope.errors import UsageError
from hpcscope.machine.machine import NativeBuild
from hpcscope.plan import plan as planning
from hpcscope.plan.place import Place
from hpcscope.plan.plan import Plan
from hpcscope.settings.experiment import Experiment

UNKNOWN = "unknown until built"
"""Reason given for a benchmark that is assumed available; only the built program can check what it needs."""


def kept() -> Catalog:
    """Return the benchmarks of the present sources from their kept declarations: nothing is compiled."""
    return Catalog(_kept())


def of_program(build: NativeBuild) -> Catalog:
    """Return the benchmarks of a program; of a baseline program, also the declared ones of the whole program.

    Raises ScopeError when the program does not run.
    """
    first = _first_sources()
    return Catalog([*(kept for kept in _kept() if kept.source not in first), *registry.load(build.program)])


def part_of(plan: Plan) -> str:
    """Return the part of the native program that has all cases of a plan."""
    first = _first_sources()
    known = {benchmark.name for benchmark in _kept() if benchmark.source in first}
    further = native.FURTHER_TRANSPORTS | native.DEVICE_MEMORY
    cases = (case for launch in plan.launches for case in launch.cases)
    has_all = all(
        case.benchmark in known and further.isdisjoint(map(str, case.parameters.values())) for case in cases
    )
    return native.BASELINE if has_all else native.WHOLE


def part_for(experiment: Experiment, place: Place, where: str) -> str:
    """Return the part that an experiment needs at a place; `where` names its file.

    If the kept declarations cannot plan it, a source may have been edited, and the whole program is needed. Raises
    UsageError if no source has a requested benchmark.
    """
    if not (experiment.only or experiment.case) and experiment.module != native.BASELINE:
        return native.WHOLE
    try:
        return part_of(planning.make(experiment, kept(), place, where))
    except UsageError:
        asked = {case.benchmark for case in experiment.case} | {
            name for name in experiment.only if "*" not in name
        }
        if any(_is_nowhere(name) for name in asked):
            raise
        return native.WHOLE


def _is_nowhere(name: str) -> bool:
    """Return whether neither a kept declaration nor a source knows a benchmark; nothing is compiled for that."""
    if any(known == name or known.startswith(f"{name}.") for known in kept().names):
        return False
    own = name.rpartition(".")[2]
    folders = [native.source_directory() / "src/benchmarks", *filter(None, [native.extra_benchmarks()])]
    sources = (path for folder in folders for path in folder.rglob("*.cpp"))
    return not any(own in path.read_text(errors="replace") for path in sources)


def _first_sources() -> set[str]:
    """Return the sources of the baseline program."""
    return {benchmark.source for benchmark in declared() if benchmark.module == native.BASELINE}


def _kept() -> list[Benchmark]:
    folder = native.source_directory() / "src" / "benchmarks"
    return [
        benchmark.model_copy(update={"reason": UNKNOWN}) if benchmark.requires else benchmark
        for benchmark in declared()
        if (folder / benchmark.source).is_file()
    ]
