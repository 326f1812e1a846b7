"""The benchmarks that there are, with a native program or before one, and which part of it a plan needs."""

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
"""The reason of a benchmark that is taken for available, and needs what only a program can look for."""


def kept() -> Catalog:
    """Return the benchmarks of the sources that are here by their kept declarations: nothing is compiled."""
    return Catalog(_kept())


def of_program(build: NativeBuild) -> Catalog:
    """Return the benchmarks of a program, and those of the whole where it is the baseline's.

    Raises ScopeError when the program does not run.
    """
    first = _first_sources()
    return Catalog([*(kept for kept in _kept() if kept.source not in first), *registry.load(build.program)])


def part_of(plan: Plan) -> str:
    """Return the part of the native program that has all cases of a plan."""
    first = _first_sources()
    known = {benchmark.name for benchmark in _kept() if benchmark.source in first}
    further = native.FURTHER_TRANSPORTS | native.DEVICE_MEMORY
    return (
        native.BASELINE
        if all(
            case.benchmark in known and further.isdisjoint(map(str, case.parameters.values()))
            for launch in plan.launches
            for case in launch.cases
        )
        else native.WHOLE
    )


def part_for(experiment: Experiment, place: Place, where: str) -> str:
    """Return the part that an experiment needs at a place; `where` names its file.

    What the kept declarations cannot plan may be of an edited source: only the whole program knows. UsageError
    where no source has a benchmark that is asked for.
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
    """Whether neither a kept declaration nor a source knows a benchmark: nothing is compiled to find that out."""
    if any(known == name or known.startswith(f"{name}.") for known in kept().names):
        return False
    own = name.rpartition(".")[2]
    folders = [native.source_directory() / "src/benchmarks", *filter(None, [native.extra_benchmarks()])]
    sources = (path for folder in folders for path in folder.rglob("*.cpp"))
    return not any(own in path.read_text(errors="replace") for path in sources)


def _first_sources() -> set[str]:
    """Return the sources that the baseline's program has."""
    return {benchmark.source for benchmark in declared() if benchmark.module == native.BASELINE}


def _kept() -> list[Benchmark]:
    folder = native.source_directory() / "src" / "benchmarks"
    return [
        benchmark.model_copy(update={"reason": UNKNOWN}) if benchmark.requires else benchmark
        for benchmark in declared()
        if (folder / benchmark.source).is_file()
    ]
