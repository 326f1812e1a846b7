"""The grammar of sweeps."""

from __future__ import annotations

import pytest

from hpcscope import units
from hpcscope.catalog.benchmark import Benchmark
from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.ranks import Ranks
from hpcscope.errors import UsageError
from hpcscope.plan import sweep
from hpcscope.plan.place import Place
from hpcscope.plan.placement import Placement
from hpcscope.plan.sweep import Source

PERSON = Source("here", person=True)


def named(benchmarks: Catalog, name: str) -> Benchmark:
    return benchmarks[name]


def test_factors_are_split() -> None:
    assert sweep.parse("ranks=2 message_bytes=0,1Ki", "x") == {"ranks": ["2"], "message_bytes": ["0", "1Ki"]}


@pytest.mark.parametrize("text", ["ranks", "ranks=", "=2", "ranks=1,,2", "a=1 a=2"])
def test_a_word_that_is_no_factor_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^x: "):
        sweep.parse(text, "x")


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("1Ki", 1024), ("4Mi", 4 << 20), ("2Gi", 2 << 30), ("-3", -3)]
)
def test_integers_take_binary_suffixes(text: str, number: int) -> None:
    assert units.whole(text) == number


@pytest.mark.parametrize("text", ["", "1K", "1.5", "1e3", "Ki", "0x10", "1 Ki", "9" * 30])
def test_other_integers_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        units.whole(text)


def test_the_product_of_all_factors_is_run_and_defaults_filled_in(benchmarks: Catalog) -> None:
    factors = {"transport": ["default", "tcp"], "message_bytes": ["0", "1Ki", "1Mi"]}
    points = list(sweep.expand(factors, named(benchmarks, "mpi.latency"), Place((2,)), "core", PERSON))
    assert len(points) == 6
    assert {point.transport for point in points} == {"default", "tcp"}
    assert {point.ranks for point in points} == {2}
    assert points[0].parameters == {"message_bytes": 0, "mode": "standard"}


@pytest.mark.parametrize(
    ("name", "words", "slots", "counts"),
    [
        ("mpi.barrier", ["all"], 6, [6]),
        ("mpi.barrier", ["powers"], 6, [2, 4]),
        ("mpi.barrier", ["all", "2", "powers"], 4, [4, 2]),
        ("mpi.barrier", ["all"], 1, [2]),
        ("mpi.barrier", ["powers"], 1, [2]),
        ("mpi.barrier", ["every"], 5, [2, 3, 4, 5]),
        ("mpi.barrier", ["every"], 100, [*range(2, 17), 24, 32, 48, 64, 96, 100]),
        ("mpi.barrier", ["nodes"], 5, [2]),
        ("mpi.latency", ["all"], 64, [2]),
        ("algorithm.cannon", ["squares"], 2, [1]),
        ("algorithm.cannon", ["squares"], 30, [1, 4, 9, 16, 25]),
        ("algorithm.cannon", ["all"], 8, [4]),
        ("algorithm.cannon", ["powers"], 8, [1, 4]),
    ],
)
def test_rank_rules(benchmarks: Catalog, name: str, words: list[str], slots: int, counts: list[int]) -> None:
    assert sweep.rank_counts(words, named(benchmarks, name), Place((slots,)), Placement(), "x") == counts


def test_one_or_seven_ranks(benchmarks: Catalog) -> None:
    seven = named(benchmarks, "algorithm.cannon").model_copy(update={"ranks": Ranks(one_of=[1, 7])})
    for words, slots, counts in ((["every"], 4, [1]), (["all"], 8, [7]), (["1", "7"], 2, [1, 7])):
        assert sweep.rank_counts(words, seven, Place((slots,)), Placement(), "x") == counts
    with pytest.raises(UsageError, match=r"ranks = 4: .*1 or 7"):
        sweep.rank_counts(["4"], seven, Place((8,)), Placement(), "x")


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        (
            {"message_byte": ["1"]},
            ["message_byte = 1", "message_bytes, mode, ranks", "message_bytes?"],
        ),
        ({"message_bytes": ["-1"]}, ["message_bytes = -1", "from 0 to 1073741824"]),
        ({"message_bytes": ["4Gi"]}, ["message_bytes = 4Gi", "from 0 to 1073741824"]),
        ({"message_bytes": ["1.5"]}, ["message_bytes = 1.5", "integer"]),
        ({"message_bytes": []}, ["message_bytes = []", "at least one"]),
        (
            {"mode": ["syncronous"]},
            ["mode = syncronous", "standard, synchronous, ready", "synchronous?"],
        ),
        ({"transport": ["ib"]}, ["transport = ib", "default, tcp"]),
        ({"ranks": ["3"]}, ["ranks = 3: ", " 2"]),
        ({"ranks": ["-2"]}, ["ranks = -2: ", " 2"]),
        ({"ranks": ["al"]}, ["ranks = al", "all, nodes, powers, every, squares", " all?"]),
    ],
)
def test_a_mistake_names_benchmark_key_value_and_what_is_allowed(
    benchmarks: Catalog, factors: dict[str, list[str]], words: list[str]
) -> None:
    with pytest.raises(UsageError) as refusal:
        list(sweep.expand(factors, named(benchmarks, "mpi.latency"), Place((2,)), "core", PERSON))
    message = str(refusal.value)
    assert message.startswith("here: mpi.latency: ")
    assert "\n" not in message
    for word in words:
        assert word in message


CLUSTER = Place(slots=(4, 4, 8), types=((0, 1), (2,)))
"""Two small hosts and a large one."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ranks=all", [("core", 16)]),
        ("ranks=nodes placement=node", [("node", 3)]),
        ("ranks=all nodes=types", [("core:type1", 8), ("core:type2", 8)]),
        ("ranks=all nodes=all,types", [("core", 16), ("core:type1", 8), ("core:type2", 8)]),
        ("ranks=nodes placement=node nodes=types", [("node:type1", 2), ("node:type2", 2)]),
    ],
)
def test_sub_clusters_of_equal_hosts_are_taken_by_themselves(
    benchmarks: Catalog, text: str, expected: list[tuple[str, int]]
) -> None:
    barrier = named(benchmarks, "mpi.barrier")
    points = sweep.expand(sweep.parse(text, "x"), barrier, CLUSTER, "core", PERSON)
    assert [(str(point.placement), point.ranks) for point in points] == expected


def test_on_equal_hosts_the_types_are_all(benchmarks: Catalog) -> None:
    alike = Place(slots=(4, 4), types=((0, 1),))
    factors = {"nodes": ["all", "types"], "ranks": ["all"]}
    points = list(sweep.expand(factors, named(benchmarks, "mpi.barrier"), alike, "core", PERSON))
    assert [(str(point.placement), point.ranks) for point in points] == [("core", 8)]


@pytest.mark.parametrize(
    ("word", "ranks", "values"),
    [
        ("3..6", 2, [3, 4, 5, 6]),
        ("1..ranks-1", 4, [1, 2, 3]),
        ("1..ranks-1", 1, []),
        ("ranks-2", 9, [7]),
        ("ranks", 9, [9]),
        ("1Ki", 9, [1024]),
    ],
)
def test_integers_may_be_ranges_and_count_the_ranks(
    benchmarks: Catalog, word: str, ranks: int, values: list[int]
) -> None:
    parameter = next(p for p in named(benchmarks, "mpi.latency").parameters if p.name == "message_bytes")
    assert sweep.values_of(word, parameter, ranks, "x") == values


@pytest.mark.parametrize(
    "word", ["1..", "..3", "0..99999", "1..ranks+1", "ranks*2", "ranks-9", f"1..{'9' * 5000}"]
)
def test_other_ranges_are_refused(benchmarks: Catalog, word: str) -> None:
    parameter = next(p for p in named(benchmarks, "mpi.latency").parameters if p.name == "message_bytes")
    with pytest.raises(UsageError, match="message_bytes = "):
        sweep.values_of(word, parameter, 4, "x")
