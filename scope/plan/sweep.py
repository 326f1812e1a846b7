"""The grammar of sweeps: `ranks=2 transport=default,tcp mode=standard message_bytes=0,1Ki,1Mi`.

Each word is a factor and its values; the cases are the product of all factors. Integers may end in Ki, Mi or Gi,
and `1..7` means each from 1 to 7; an integer parameter may count the ranks: `ranks`, `ranks-1`, `1..ranks-1`.
Ranks are numbers or a rule: `all` (one per slot), `nodes` (one per host), `powers` (1, 2, 4, ... up to the slots),
`every` (1, 2, 3, ... 16, then 24, 32, 48, 64, ... up to the slots), `squares` (1, 4, 9, ... up to the slots, and 4
in any case). `placement=node` puts one rank on each host; `nodes=types` takes each sub-cluster of equal hosts by
itself.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from scope.build.registry import BenchmarkDescription, ParameterDescription
from scope.errors import UsageError
from scope.plan.experiment import did_you_mean
from scope.plan.place import ALL, ONE_PER_HOST, THREADS, Place, joined, with_kind

Value = int | str
SUFFIXES = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
RANK_RULES = ("all", "nodes", "powers", "every", "squares")
TRANSPORTS = ("default", "tcp", "collectives")
FORCED_COLLECTIVE = re.compile(r"collectives\.[a-z]+\.[a-z_]+")
"""`collectives.broadcast.flat_binomial`: the library of that name, told which algorithm to use."""
PLACEMENTS = ("core", "socket", "none", ONE_PER_HOST, THREADS)
NODES = (ALL, "types")
LONGEST_RANGE = 4096
EACH_COUNT_UP_TO = 16
MINIMUM_CONFIGURATION = 4


@dataclass(frozen=True)
class Combination:
    """One point of a sweep."""

    ranks: int
    transport: str
    placement: str
    parameters: dict[str, Value]


@dataclass(frozen=True)
class Source:
    """Who wrote a sweep: a person, whose mistakes are refused, or a benchmark, whose misfits are skipped."""

    name: str
    """What an error message begins with."""
    person: bool


def parse(text: str, where: str) -> dict[str, list[str]]:
    """Split a sweep into factors; raises UsageError for a word that is no `key=value`."""
    factors: dict[str, list[str]] = {}
    for word in text.split():
        match = re.fullmatch(r"([\w.]+)=([^=\s]+)", word)
        if match is None or not all(match[2].split(",")):
            raise UsageError(f"{where}: {word!r}: must be key=value or key=value,value")
        if match[1] in factors:
            raise UsageError(f"{where}: {match[1]}: given twice; give its values in one list")
        factors[match[1]] = match[2].split(",")
    return factors


def integer(text: str) -> int:
    """Read `1024`, `1Ki`, `4Mi` or `1Gi`; raises ValueError for anything else."""
    match = re.fullmatch(r"(-?\d{1,18})(Ki|Mi|Gi)?", text)
    if match is None:
        raise ValueError(f"{text!r} is no integer")
    return int(match[1]) * SUFFIXES[match[2] or ""]


def expand(
    factors: dict[str, list[str]], benchmark: BenchmarkDescription, place: Place, placement: str, source: Source
) -> Iterator[Combination]:
    """Yield every combination of the factors' values; parameters that are not swept have their default.

    Raises UsageError for an unknown parameter, a value out of range or an impossible number of ranks.
    """
    where = f"{source.name}: {benchmark.name}"
    parameters = {parameter.name: parameter for parameter in benchmark.parameters}
    allowed = [*parameters, "ranks", "transport", "placement", "nodes"]
    for key, words in factors.items():
        if key not in allowed:
            raise UsageError(
                f"{where}: {key} = {','.join(words)}: unknown parameter; allowed: {', '.join(allowed)}"
                f"{did_you_mean(key, allowed)}"
            )
        if not words:
            raise UsageError(f"{where}: {key} = []: must have at least one value")
    transports = factors.get("transport", ["default"])
    _choices(
        where, "transport", [word for word in transports if not FORCED_COLLECTIVE.fullmatch(word)], TRANSPORTS
    )
    kinds = _choices(where, "placement", factors.get("placement", [placement]), PLACEMENTS)
    nodes = _choices(where, "nodes", factors.get("nodes", [ALL]), NODES)
    groups = dict.fromkeys(group for word in nodes for group in (place.groups if word == "types" else (ALL,)))
    for group, transport, kind in itertools.product(groups, transports, kinds):
        here = joined(kind, group)
        for ranks in rank_counts(factors.get("ranks", ["all"]), benchmark, place, here, where):
            values = [
                [
                    each
                    for word in factors.get(name, [str(parameter.default)])
                    for each in values_of(word, parameter, ranks, where)
                ]
                for name, parameter in parameters.items()
            ]
            for point in itertools.product(*values):
                yield Combination(ranks, transport, here, dict(zip(parameters, point, strict=True)))


def values_of(word: str, parameter: ParameterDescription, ranks: int, where: str) -> list[Value]:
    """Read a word that means one value of a parameter, or a range of integers that may end at the ranks."""
    match = re.fullmatch(r"(?:(-?\d+)\.\.)?(ranks(?:-\d+)?|-?\d+)", word)
    if parameter.type == "choice" or match is None or (match[1] is None and "ranks" not in word):
        return [value(word, parameter, where)]
    last = ranks - int(match[2].partition("-")[2] or 0) if match[2].startswith("ranks") else int(match[2])
    first = last if match[1] is None else int(match[1])
    if last - first >= LONGEST_RANGE:
        raise UsageError(
            f"{where}: {parameter.name} = {word}: must be a range of at most {LONGEST_RANGE} integers"
        )
    return [value(str(number), parameter, where) for number in range(first, last + 1)]


def value(word: str, parameter: ParameterDescription, where: str) -> Value:
    """Read one value of a parameter; raises UsageError that says what is allowed."""
    if parameter.type == "choice":
        return _choices(where, parameter.name, [word], tuple(parameter.choices))[0]
    low, high = parameter.minimum, parameter.maximum
    try:
        number = integer(word)
    except ValueError:
        number = None
    if number is None or (low is not None and number < low) or (high is not None and number > high):
        limits = " ".join(
            [f"from {low}" if low is not None else "", f"to {high}" if high is not None else ""]
        ).strip()
        raise UsageError(
            f"{where}: {parameter.name} = {word}: must be an integer {limits} ({parameter.unit or 'count'});"
            " Ki, Mi and Gi may follow"
        )
    return number


def rank_counts(
    words: list[str], benchmark: BenchmarkDescription, place: Place, placement: str, where: str
) -> list[int]:
    """Return the numbers of ranks that the words mean for this benchmark at this place."""
    counts: list[int] = []
    for word in words:
        if word in RANK_RULES:
            room = place.room(with_kind(placement, ONE_PER_HOST) if word == "nodes" else placement)
            fitting = [count for count in _by_rule(word, room, benchmark) if fits(count, benchmark)]
            counts += fitting or [benchmark.minimum_ranks]
            continue
        try:
            count = integer(word)
        except ValueError:
            raise UsageError(
                f"{where}: ranks = {word}: must be a number or one of {', '.join(RANK_RULES)}"
                f"{did_you_mean(word, list(RANK_RULES))}"
            ) from None
        if not fits(count, benchmark):
            raise UsageError(f"{where}: ranks = {word}: must be {allowed_ranks(benchmark)}")
        counts.append(count)
    return list(dict.fromkeys(counts))


def allowed_ranks(benchmark: BenchmarkDescription) -> str:
    """Say which numbers of ranks a benchmark can use."""
    low, high = benchmark.minimum_ranks, benchmark.maximum_ranks
    if benchmark.rank_rule == "one_or_seven":
        return "1 or 7"
    kind = {"any": "", "even": "an even number, ", "square": "a square number, "}[benchmark.rank_rule]
    if low == high:
        return f"{low}"
    return f"{kind}at least {low}" + (f" and at most {high}" if high is not None else "")


def _by_rule(rule: str, slots: int, benchmark: BenchmarkDescription) -> list[int]:
    if rule == "powers":
        return [1 << exponent for exponent in range(slots.bit_length())]
    if rule == "every":
        beyond = [count for exponent in range(4, 24) for count in (3 << exponent - 1, 2 << exponent)]
        return [count for count in [*range(1, EACH_COUNT_UP_TO + 1), *beyond] if count <= slots]
    if rule == "squares":
        return [root * root for root in range(1, max(2, math.isqrt(slots)) + 1)]
    most = min(slots, benchmark.maximum_ranks or slots)
    return [count for count in range(most, 0, -1) if fits(count, benchmark)][:1]


def fits(count: int, benchmark: BenchmarkDescription) -> bool:
    """Return whether a benchmark can use so many ranks."""
    low, high = benchmark.minimum_ranks, benchmark.maximum_ranks
    if count < max(1, low) or (high is not None and count > high):
        return False
    if benchmark.rank_rule == "square":
        return math.isqrt(count) ** 2 == count
    if benchmark.rank_rule == "one_or_seven":
        return count in (1, 7)
    return benchmark.rank_rule == "any" or count % 2 == 0


def minimum_configuration(benchmark: BenchmarkDescription) -> int:
    """Return how many ranks a module may ask of any machine; on fewer cores they are oversubscribed."""
    return 7 if benchmark.rank_rule == "one_or_seven" else MINIMUM_CONFIGURATION


def _choices(where: str, key: str, words: list[str], allowed: tuple[str, ...]) -> list[str]:
    for word in words:
        if word not in allowed:
            raise UsageError(
                f"{where}: {key} = {word}: must be one of {', '.join(allowed)}{did_you_mean(word, list(allowed))}"
            )
    return words
