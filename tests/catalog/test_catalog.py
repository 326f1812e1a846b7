"""The catalog's answers by routine, rung, role and family, on the benchmarks as they are declared."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hpcscope.catalog.benchmark import Benchmark, Parameter, Value
from hpcscope.catalog.catalog import LIMIT, Binding, read, write
from hpcscope.errors import UsageError
from hpcscope.rundirectory import read_json
from tests.declared import catalog

LARGEST = 1 << 20
"""Values above this one show nothing more."""


def settings(benchmark: str, **changes: Value) -> dict[str, Value]:
    """Return the default case but for some changes."""
    assert changes.keys() <= catalog().defaults(benchmark).keys()
    return catalog().defaults(benchmark) | changes


def only(routine: str) -> Binding:
    """Return the one benchmark of level `mpi` that stands for a routine."""
    (binding,) = catalog().bound_to(routine)
    return binding


@pytest.mark.parametrize(
    ("routine", "benchmark", "changes"),
    [
        ("MPI_Scatterv", "mpi.scatterv", {}),
        ("MPI_Iscatterv", "mpi.scatterv", {"call": "nonblocking"}),
        ("MPI_Bcast_init", "mpi.broadcast", {"call": "persistent"}),
        ("MPI_Send", "mpi.latency", {}),
        ("MPI_Ssend", "mpi.latency", {"mode": "synchronous"}),
        ("MPI_Bsend", "mpi.latency", {"mode": "buffered"}),
        ("MPI_Rsend", "mpi.latency", {"mode": "ready"}),
    ],
)
def test_a_routine_has_its_benchmark_and_cases(routine: str, benchmark: str, changes: dict[str, Value]) -> None:
    binding = only(routine)
    assert binding.benchmark.name == benchmark
    assert routine in catalog().routines
    for size in (64, 4096):
        assert binding.holds(settings(benchmark, message_bytes=size, **changes))


@pytest.mark.parametrize(
    ("routine", "changes"),
    [
        ("MPI_Ssend", {}),
        ("MPI_Ssend", {"mode": "synchronous", "completion": "nonblocking"}),
        ("MPI_Send", {"mode": "synchronous"}),
        ("MPI_Scatterv", {"call": "nonblocking"}),
        ("MPI_Scatterv", {"blocks": "one_has_all"}),
        ("MPI_Scatterv", {"root": 1}),
    ],
)
def test_other_cases_do_not_stand_for_a_routine(routine: str, changes: dict[str, Value]) -> None:
    binding = only(routine)
    assert not binding.holds(settings(binding.benchmark.name, **changes))


def test_a_free_parameter_may_have_any_value() -> None:
    binding = only("MPI_Scatterv")
    assert binding.holds(settings("mpi.scatterv", root=1), free=["root"])
    assert not binding.holds(settings("mpi.scatterv", root=1, blocks="one_has_all"), free=["root"])


def test_routines_are_looked_up_on_one_level() -> None:
    assert [one.benchmark.name for one in catalog().bound_to("MPI_Bcast", "operation")] == ["operation.broadcast"]
    assert [one.benchmark.name for one in catalog().bound_to("MPI_Bcast")] == ["mpi.broadcast"]
    assert catalog().bound_to("MPI_Get_count") == []
    assert "MPI_Get_count" not in catalog().routines


def test_a_rung_has_its_benchmarks() -> None:
    def names(pattern: str, layer: str | None = None) -> set[str]:
        return {one.benchmark.name for one in catalog().standing(pattern, layer)}  # type: ignore[arg-type]

    assert names("ping_pong", "mpi") == {"mpi.latency"}
    assert names("ping_pong", "network") == names("ping_pong", "frames") == {"network.latency"}
    assert names("stream") == {"mpi.bandwidth", "network.bandwidth"}
    assert names("core_copy", LIMIT) == {"node.core_to_core"}
    assert names("copy", LIMIT) == names("copy") == {"node.memory_copy", "node.stream"}
    assert names("pair_matrix") == {"mpi.pairs"}
    assert names("transfer", "mpi") == set()


def test_a_rung_holds_the_cases_that_it_declares() -> None:
    (frames,) = catalog().standing("ping_pong", "frames")
    (network,) = catalog().standing("ping_pong", "network")
    ethernet, tcp = (settings("network.latency", protocol=one, message_bytes=1024) for one in ("ethernet", "tcp"))
    assert frames.holds(ethernet)
    assert not frames.holds(tcp)
    assert network.holds(ethernet)
    assert network.holds(tcp)
    assert not network.holds(tcp | {"nodelay": "off"})
    assert network.holds(tcp | {"nodelay": "off"}, free=["nodelay"])


def test_a_rung_shows_its_metric_or_any_result() -> None:
    (copy,) = (one for one in catalog().standing("copy") if one.benchmark.name == "node.memory_copy")
    assert copy.rung.metric
    assert [one for one in copy.benchmark.metric if copy.shows(one)] == [copy.rung.metric]
    (ping_pong,) = catalog().standing("ping_pong", "mpi")
    results = [one.name for one in ping_pong.benchmark.metrics if one.role == "result"]
    expected = [ping_pong.rung.metric] if ping_pong.rung.metric else results
    assert [one for one in ping_pong.benchmark.metric if ping_pong.shows(one)] == expected
    assert not ping_pong.shows("no_such_metric")


def test_parameters_are_chosen_by_role() -> None:
    case = settings("algorithm.summa", grid_rows=2, grid_columns=3)
    assert catalog().of_role("algorithm.summa", case, "size") == {"n": 240}
    assert catalog().of_role("algorithm.summa", case, "size", "method") == {"n": 240, "block": 128, "panel": 256}
    assert catalog().grid("algorithm.summa", case) == {"grid_rows": 2, "grid_columns": 3}
    assert catalog().size("algorithm.summa", case) == 240
    assert catalog().size("mpi.latency", settings("mpi.latency", message_bytes=77)) == 77
    assert catalog().size("application.npb_cg", settings("application.npb_cg")) is None


def test_sizes_are_sorted_by_value_and_classes_by_their_order() -> None:
    def keys(benchmark: str, name: str, values: list[Value]) -> list[tuple[int, ...]]:
        return [catalog().size_key(benchmark, settings(benchmark, **{name: value})) for value in values]

    sizes = keys("mpi.latency", "message_bytes", [2, 10, 1024])
    assert sizes == sorted(sizes)
    (size,) = (one for one in catalog()["application.npb_cg"].parameters if one.role == "size")
    classes = keys("application.npb_cg", size.name, list(size.choices))
    assert classes == sorted(set(classes))
    assert len(classes) > 2


def test_a_family_computes_the_same() -> None:
    products = [
        "algorithm.matmul_cannon",
        "algorithm.matmul_striped",
        "algorithm.summa",
        "algorithm.scalapack_pdgemm",
    ]
    assert {catalog()[one].family for one in products} == {"matrix product"}
    assert len({catalog().problem(one, settings(one, n=720)) for one in products}) == 1
    first, *_ = products
    assert catalog().problem(first, settings(first, n=720)) != catalog().problem(first, settings(first, n=360))
    pdgemm = "algorithm.scalapack_pdgemm"
    single, double = (settings(pdgemm, n=720, precision=one) for one in ("single", "double"))
    assert catalog().problem(pdgemm, single) != catalog().problem(pdgemm, double)
    assert catalog().problem(pdgemm, single | {"block": 64}) == catalog().problem(pdgemm, single)
    other = "algorithm.relaxation"
    assert catalog().problem(other, settings(other, n=720)) != catalog().problem(first, settings(first, n=720))


@pytest.mark.parametrize(
    "changes",
    [
        {"grid_order": "columns"},
        {"grid_rows": 2, "grid_columns": 3},
        {"broadcast": "ring"},
        {"broadcast": "library"},
    ],
)
def test_the_sequential_baseline_ignores_how_ranks_share_the_work(changes: dict[str, Value]) -> None:
    baseline = catalog().sequential("algorithm.summa", settings("algorithm.summa"))
    assert catalog().sequential("algorithm.summa", settings("algorithm.summa", **changes)) == baseline


@pytest.mark.parametrize("changes", [{"n": 480}, {"block": 64}, {"panel": 64}])
def test_the_sequential_baseline_has_the_same_problem_and_method(changes: dict[str, Value]) -> None:
    baseline = catalog().sequential("algorithm.summa", settings("algorithm.summa"))
    assert catalog().sequential("algorithm.summa", settings("algorithm.summa", **changes)) != baseline


def values(parameter: Parameter) -> list[Value]:
    """Return some values of a parameter: all choices, or the default and numbers of several magnitudes."""
    if parameter.choices:
        return list(parameter.choices)
    least = parameter.minimum or 0
    most = LARGEST if parameter.maximum is None else min(parameter.maximum, LARGEST)
    numbers = {parameter.default, least, least + 1, 2, 1000, 1024, 1025, most}
    return sorted({number for number in numbers if isinstance(number, int) and least <= number <= most})


def cases(benchmark: Benchmark) -> Iterator[dict[str, Value]]:
    """Yield cases that differ from the default one in two parameters at most; some come twice."""
    yield settings(benchmark.name)
    for chosen in (*combinations(benchmark.parameters, 1), *combinations(benchmark.parameters, 2)):
        for combination in product(*map(values, chosen)):
            yield settings(
                benchmark.name, **{one.name: value for one, value in zip(chosen, combination, strict=True)}
            )


@pytest.mark.parametrize("benchmark", list(catalog()), ids=catalog().names)
def test_two_cases_of_a_benchmark_never_share_a_label(benchmark: Benchmark) -> None:
    labelled: dict[str, dict[str, Value]] = {}
    for case in cases(benchmark):
        label = catalog().described(benchmark.name, case)
        assert label.startswith(benchmark.title)
        assert labelled.setdefault(label, case) == case, label


def test_labels_name_sizes_and_what_is_not_the_default() -> None:
    def label(benchmark: str, **changes: Value) -> str:
        return catalog().described(benchmark, settings(benchmark, **changes))

    assert label("mpi.latency", message_bytes=1 << 20) == "ping-pong, 1 MiB"
    assert label("mpi.latency", message_bytes=0, mode="synchronous") == "ping-pong, synchronous, 0 B"
    assert label("algorithm.summa", grid_rows=2).endswith("240, 2 grid rows")


def test_labels_use_the_words_of_the_declaration() -> None:
    def label(benchmark: str, **changes: Value) -> str:
        return catalog().described(benchmark, settings(benchmark, **changes))

    assert (
        label("network.latency", protocol="shm", message_bytes=1024)
        == "ping-pong without MPI, shared memory, 1 KiB"
    )
    assert label("network.latency", protocol="tcp", message_bytes=1024) == "ping-pong without MPI, TCP, 1 KiB"
    assert label("mpi.latency", cache="cold", message_bytes=8) == "ping-pong, 8 B, cold caches"
    assert label("node.lapack", threads=0).endswith("LU, one thread per processor, N = 200")
    assert label("node.lapack", threads=2).endswith("LU, 2 threads, N = 200")
    assert label("node.clock_rate", interval_ms=500) == "clock rate, register, interval 500 ms"
    assert label("mpi.partitioned", partitions=1).endswith(", 1 partition")
    assert label("algorithm.sort_psrs", n=1000, input="equal").startswith("parallel sort, 1000 keys, equal keys")


@pytest.mark.parametrize(
    ("parameter", "words", "reason"),
    [
        ("mode", ["standard", "buffered"], "each of standard, buffered"),
        ("mode", ["", "", "a", "b"], "each of standard, buffered"),
        ("message_bytes", ["bytes"], "one phrase with {}"),
        ("message_bytes", ["none", "{} bytes"], "phrases for single values, such as 0=all"),
        ("message_bytes", ["0=none"], "one phrase with {}"),
    ],
)
def test_words_must_fit_the_values(parameter: str, words: list[str], reason: str) -> None:
    declared = catalog()["mpi.latency"].parameter[parameter].model_dump()
    with pytest.raises(ValidationError, match=reason):
        Parameter.model_validate(declared | {"words": words})


def test_unknown_names_have_no_declaration() -> None:
    assert catalog().metric("mpi.latency", "no_such_metric") is None
    assert catalog().metric("mpi.no_such", "time_s") is None
    assert catalog().metric_label("unheard_of_s") == "unheard of"
    assert catalog().parameter_label("unheard_of") == "unheard of"


@pytest.mark.parametrize(
    ("benchmark", "changes", "reason"),
    [
        (
            "mpi.latency",
            {"rungs": [{"pattern": "ping_pong", "layer": "operation"}]},
            "rungs: pattern = ping_pong, layer = operation: .*frames or network or mpi",
        ),
        (
            "mpi.latency",
            {"costs": [{"phase": "exchange", "kind": "messages"}]},
            "costs: .*operation, algorithm, application",
        ),
        (
            "operation.shift",
            {"costs": [{"phase": "exchange", "kind": "messages", "bytes": "8*m^2"}]},
            r"costs: 8\*m\^2: .*\bm\b.*grid_rows, n, p",
        ),
        (
            "operation.shift",
            {"costs": [{"phase": "exchange", "kind": "messages", "bytes": "8*"}]},
            "invalid syntax",
        ),
        (
            "application.cfd",
            {"costs": [{"phase": "exchange", "kind": "messages", "parameters": {"partition": "stripes"}}]},
            "costs: parameters: partition = stripes: .*slabs, pencils, blocks",
        ),
    ],
)
def test_a_declaration_without_a_place_is_refused(benchmark: str, changes: dict[str, Any], reason: str) -> None:
    declared = catalog()[benchmark].model_dump()
    with pytest.raises(ValidationError, match=reason):
        Benchmark.model_validate(declared | changes)


def test_what_is_remembered_is_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.json"
    write(path, catalog())
    assert list(read(path)) == list(catalog()) == read_json(path, list[Benchmark])
    fewer = list(catalog())[1:]
    write(path, fewer)
    assert list(read(path)) == fewer
    path.write_text("[{}]")
    with pytest.raises(UsageError, match=r"benchmarks\.json: 0\.name"):
        read(path)
