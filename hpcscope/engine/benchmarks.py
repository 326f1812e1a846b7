"""The benchmarks: listed, and explained one by one. Nothing is compiled for this."""

import difflib
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from hpcscope.build import blas, installations, native
from hpcscope.catalog.benchmark import MODULES, Benchmark
from hpcscope.catalog.catalog import Catalog
from hpcscope.engine import catalogs
from hpcscope.errors import UsageError
from hpcscope.machine.machine import Blas, MpiInstallation
from hpcscope.plan.plan import refuse_unknown
from hpcscope.rundirectory import read_text

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Listed:
    """Benchmarks, and the BLAS that they would use."""

    benchmarks: list[Benchmark]
    blas: Blas | None


@dataclass(frozen=True)
class Explained:
    """A benchmark with the text of its specification (Markdown)."""

    benchmark: Benchmark
    specification: str


def select(patterns: Sequence[str], module: str | None, mpi: str | None) -> Listed:
    """Return the benchmarks that patterns and module choose; UsageError for an unknown module."""
    if module is not None and module not in MODULES:
        raise UsageError(f"--module {module}: must be one of {', '.join(MODULES)}")
    installation = installations.find(mpi)
    catalog = _catalog(installation)
    refuse_unknown(patterns, catalog.names, "the command line")
    known = catalog.matching(patterns)
    last = MODULES.index(module) if module in MODULES else len(MODULES)
    listed = [benchmark for benchmark in known if MODULES.index(benchmark.module) <= last]
    return Listed(listed, blas.find(installation.wrapper))


def explain(name: str, mpi: str | None) -> Explained:
    """Return a benchmark with its specification; UsageError if none has this name."""
    catalog = _catalog(installations.find(mpi))
    benchmark = catalog.get(name)
    if benchmark is None:
        raise UsageError(f"{name}: unknown benchmark; {_near(name, catalog.names)}see `scope list`")
    file = native.source_directory() / "src" / "benchmarks" / benchmark.specification
    return Explained(benchmark, read_text(file))


def _catalog(mpi: MpiInstallation) -> Catalog:
    """Return the benchmarks of the native program in the cache, else those that Scope keeps."""
    if build := native.kept(mpi, native.BASELINE):
        return catalogs.of_program(build)
    if extra := native.extra_benchmarks():
        logger.info("%s: its benchmarks are %s (`scope build`)", extra, catalogs.UNKNOWN)
    return catalogs.kept()


def _near(name: str, names: Sequence[str]) -> str:
    """Return `did you mean A or B? ` where names are close, with their level or without it."""
    word = name.rpartition(".")[2]
    last = {each: each.rpartition(".")[2] for each in names}
    alike = difflib.get_close_matches(word, sorted(set(last.values())), n=2, cutoff=0.7)
    close = difflib.get_close_matches(name, names, n=1)
    found = list(dict.fromkeys([*close, *(each for word in alike for each in names if last[each] == word)]))[:4]
    listed = " or ".join(filter(None, [", ".join(found[:-1]), *found[-1:]]))
    return f"did you mean {listed}? " if found else ""
