"""The benchmarks of a native program: listed, and explained one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scope.build import installations, native, registry
from scope.catalog.benchmark import MODULES, Benchmark
from scope.engine.builds import native_program
from scope.errors import UsageError
from scope.machine.machine import NativeBuild
from scope.plan.experiment import did_you_mean
from scope.plan.plan import refuse_unknown
from scope.rundirectory import read_text


@dataclass(frozen=True)
class Listed:
    """Benchmarks, and the native program that has them."""

    benchmarks: list[Benchmark]
    build: NativeBuild


@dataclass(frozen=True)
class Explained:
    """A benchmark with the text of its specification (Markdown)."""

    benchmark: Benchmark
    specification: str


def select(patterns: Sequence[str], module: str | None, mpi: str | None) -> Listed:
    """Return the benchmarks that patterns and module choose; UsageError for an unknown module."""
    if module is not None and module not in MODULES:
        raise UsageError(f"--module {module}: must be one of {', '.join(MODULES)}")
    build = native_program(installations.find(mpi))
    catalog = registry.load(build.program)
    refuse_unknown(patterns, catalog.names, "the command line")
    known = catalog.matching(patterns)
    last = MODULES.index(module) if module in MODULES else len(MODULES)
    return Listed([each for each in known if MODULES.index(each.module) <= last], build)


def explain(name: str, mpi: str | None) -> Explained:
    """Return a benchmark with its specification; UsageError where none has this name."""
    catalog = registry.load(native_program(installations.find(mpi)).program)
    benchmark = catalog.get(name)
    if benchmark is None:
        near = did_you_mean(name, catalog.names)
        raise UsageError(f"{name}: unknown benchmark; must be one of {', '.join(catalog.names)}{near}")
    file = native.source_directory() / "src" / "benchmarks" / benchmark.specification
    return Explained(benchmark, read_text(file))
