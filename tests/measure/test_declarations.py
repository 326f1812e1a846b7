"""What benchmarks declare is complete and consistent, so that no general code has to know their names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from hpcscope.build import monitor, registry
from hpcscope.catalog.benchmark import LAYERS_OF, Benchmark, Routine
from hpcscope.catalog.catalog import Catalog
from hpcscope.machine.machine import NativeBuild
from tests import declared

ROUTINES = set(
    re.findall(r"^[345]\.\d \w+ +\w+ +(\w+)\(", (monitor.source_directory() / "routines.txt").read_text(), re.M)
)
FUNCTIONS = {"sqrt", "log2", "ceil", "floor", "min", "max"}
PATTERNS = {
    *("ping_pong", "stream", "transfer", "communication", "arithmetic", "memory", "copy", "core_copy"),
    *("pair_matrix", "pair_sample", "neighbor_exchange", "file_write", "file_read"),
    *("device_memory", "device_link", "device_arithmetic", "device_messages"),
}
PHASES = {"initialize", "distribute", "compute", "exchange", "collect"}
REQUIREMENTS = {"blas", "lapack", "scalapack", "spawn", "threads", "file_system", "device"}


@pytest.fixture(scope="module")
def benchmarks(embedded_build: NativeBuild) -> Catalog:
    return registry.load(embedded_build.program)


def bindings(benchmarks: Catalog, level: str) -> Iterator[tuple[Benchmark, Routine]]:
    for benchmark in benchmarks:
        if benchmark.level == level:
            yield from ((benchmark, binding) for binding in benchmark.routines)


def test_texts_are_there_and_fit(benchmarks: Catalog) -> None:
    assert len(benchmarks) > 0
    for one in benchmarks:
        assert 0 < len(one.title) <= 40, one.name
        assert one.summary, one.name
        assert one.family, one.name
        for named in [*one.parameters, *one.metrics]:
            assert named.label, f"{one.name}: {named.name}"
            assert "_" not in named.label, f"{one.name}: {named.name}"
    titles = [one.title for one in benchmarks]
    assert len(set(titles)) == len(titles)


def test_roles_follow_from_names_and_units(benchmarks: Catalog) -> None:
    for one in benchmarks:
        assert any(metric.role == "result" for metric in one.metrics), one.name
        for metric in one.metrics:
            assert metric.role != "phase" or (metric.unit, metric.quantity) == ("s", "observed"), metric.name
        for parameter in one.parameters:
            assert parameter.name != "message_bytes" or parameter.role == "size", one.name
            assert not parameter.name.startswith("grid_") or parameter.role == "parallel", one.name


def test_one_name_has_one_role_in_a_family(benchmarks: Catalog) -> None:
    roles: dict[tuple[str, str], str] = {}
    for one in benchmarks:
        for parameter in one.parameters:
            assert roles.setdefault((one.family, parameter.name), parameter.role) == parameter.role, one.name


def test_ranks_are_possible(benchmarks: Catalog) -> None:
    for one in benchmarks:
        ranks = one.ranks
        assert ranks.minimum >= 1, one.name
        assert ranks.maximum is None or ranks.maximum >= ranks.minimum, one.name
        assert ranks.multiple_of >= 1, one.name
        assert ranks.one_of == sorted(set(ranks.one_of)), one.name


def test_routines_are_mpi_and_each_has_one_benchmark(benchmarks: Catalog) -> None:
    for level in ("mpi", "operation"):
        bound = [(binding.routine, *binding.ends_epoch) for _, binding in bindings(benchmarks, level)]
        assert len(bound) > 2
        assert len(set(bound)) == len(bound)
        assert {name for name, *_ in bound if name.removeprefix("MPI_") not in ROUTINES} == set()


def test_every_collective_stands_for_its_three_calls(benchmarks: Catalog) -> None:
    for one in benchmarks:
        calls = next((parameter.choices for parameter in one.parameters if parameter.name == "call"), [])
        if "persistent" in calls:
            bound = {binding.parameters["call"]: binding.routine for binding in one.routines}
            assert set(bound) == {"blocking", "nonblocking", "persistent"}, one.name
            assert bound["persistent"] == bound["blocking"] + "_init", one.name
            assert bound["nonblocking"].lower() == bound["blocking"].lower().replace("mpi_", "mpi_i"), one.name


def test_settings_are_declared_values(benchmarks: Catalog) -> None:
    for one in benchmarks:
        declared = {parameter.name: parameter for parameter in one.parameters}
        for settings in [part.parameters for part in [*one.routines, *one.rungs]]:
            for name, value in settings.items():
                choices = declared[name].choices
                assert value == "*" or (value in choices if choices else isinstance(value, int)), one.name


def test_rungs_are_of_known_patterns_and_metrics(benchmarks: Catalog) -> None:
    for one in benchmarks:
        for rung in one.rungs:
            assert rung.pattern in PATTERNS, one.name
            of_files = LAYERS_OF[rung.pattern] if rung.pattern in {"file_write", "file_read"} else ()
            assert rung.layer in {one.level, "limit", "frames", *of_files}, one.name
            assert rung.metric in {"", *(metric.name for metric in one.metrics)}, one.name
    patterns = {rung.pattern for one in benchmarks for rung in one.rungs}
    assert patterns == PATTERNS


def test_what_counts_floating_point_or_communicates_says_so(benchmarks: Catalog) -> None:
    for one in benchmarks:
        patterns = {rung.pattern for rung in one.rungs}
        metrics = {metric.name for metric in one.metrics}
        # What is given a bandwidth, too, may be bound by memory.
        if "flops_per_s" in metrics and "bandwidth_bytes_per_s" not in metrics:
            assert {"arithmetic", "device_arithmetic"} & patterns, one.name
        assert ("communicate_s" in metrics) == ("communication" in patterns), one.name


def test_costs_are_expressions_of_parameters_counts_and_ranks(benchmarks: Catalog) -> None:
    for one in benchmarks:
        known = {parameter.name for parameter in one.parameters} | {"p"} | FUNCTIONS
        known |= {metric.name for metric in one.metrics if metric.role == "count"}
        for step in one.costs:
            assert step.phase in PHASES, one.name
            assert (step.kind == "collective") == bool(step.routine), one.name
            for expression in (step.count, step.bytes, step.ranks):
                assert set(re.findall(r"[A-Za-z_]\w*", expression)) <= known, f"{one.name}: {expression}"
                assert re.fullmatch(r"[\w.+\-*/^(), ]+", expression), f"{one.name}: {expression}"


def test_requirements_are_known(benchmarks: Catalog) -> None:
    for one in benchmarks:
        assert set(one.requires) <= REQUIREMENTS, one.name


def test_the_kept_declarations_are_the_programs(benchmarks: Catalog) -> None:
    assert declared.catalog().names == benchmarks.names
    for one in benchmarks:
        assert comparable(declared.catalog()[one.name]) == comparable(one), "python -m tests.declared renews them"


def comparable(benchmark: Benchmark) -> Benchmark:
    """Return a declaration without the fields that depend on the machine."""
    return benchmark.model_copy(update={"available": True, "reason": ""})
