"""The grammar of sweeps: `ranks=2 transport=default,tcp mode=standard message_bytes=0,1Ki,1Mi`.

Each word is a factor and its values; the cases are the product of all factors. Integers may end in Ki, Mi or Gi,
and `1..7` means each from 1 to 7; an integer parameter may count the ranks: `ranks`, `ranks-1`, `1..ranks-1`.
Ranks are numbers or a rule: `all` (one per slot), `nodes` (one per host), `powers` (1, 2, 4, ... up to the slots),
`every` (1, 2, 3, ... 16, then 24, 32, 48, 64, ... and all slots), `squares` (1, 4, 9, ... up to the slots).
`placement=node` puts one rank on each host; `nodes=types` uses each sub-cluster of equal hosts separately.
`hosts=..256` or `hosts=257..` restricts a sweep to clusters of this size: one sweep for small, one for large.
"""

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from hpcscope import units
from hpcscope.catalog.benchmark import Benchmark, Parameter
from hpcscope.errors import UsageError
from hpcscope.plan.case import Batch
from hpcscope.plan.place import Place
from hpcscope.plan.placement import ALL, KINDS, Kind, Placement
from hpcscope.settings.kinds import did_you_mean
from hpcscope.settings.selection import Value
from hpcscope.settings.selection import factors as factors_of
from hpcscope.settings.transports import ACTIVE_MESSAGES, WITHOUT_FLOW_CONTROL

Word = TypeVar("Word", bound=str)
RANK_RULES = ("all", "nodes", "powers", "every", "squares")
TRANSPORTS = ("default", "tcp", ACTIVE_MESSAGES, WITHOUT_FLOW_CONTROL, "collectives")
FORCED_COLLECTIVE = re.compile(r"collectives\.[a-z]+\.[a-z_]+")
"""`collectives.broadcast.flat_binomial`: the topology-aware collectives, one of them with a given algorithm."""
NODES = (ALL, "types")
LONGEST_RANGE = 4096
BOUND: Kind = "core"
EACH_COUNT_UP_TO = 16


@dataclass(frozen=True)
class Combination:
    """One point of a sweep."""

    ranks: int
    transport: str
    placement: Placement
    parameters: dict[str, Value]

    @property
    def batch(self) -> Batch:
        """Ranks, transport and placement: what a launch fixes for all its cases."""
        return self.ranks, self.transport, self.placement


@dataclass(frozen=True)
class Source:
    """Who wrote a sweep: a user, whose mistakes are refused, or a benchmark, whose misfits are skipped."""

    name: str
    """The beginning of an error message."""
    person: bool


def parse(text: str, where: str) -> dict[str, list[str]]:
    """Split a sweep into factors; raises UsageError for a word that is not `key=value`."""
    try:
        return factors_of(text)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error


def expand(
    factors: dict[str, list[str]], benchmark: Benchmark, place: Place, binding: Kind, source: Source
) -> Iterator[Combination]:
    """Yield every combination of the factors' values; parameters that are not swept have their default.

    Raises UsageError for an unknown parameter, a value out of range or an impossible number of ranks.
    """
    where = f"{source.name}: {benchmark.name}"
    parameters = benchmark.parameter
    allowed = [*parameters, "ranks", "transport", "placement", "nodes", "hosts"]
    for key, words in factors.items():
        if key not in allowed:
            raise UsageError(
                f"{where}: {key} = {','.join(words)}: unknown parameter; allowed: {', '.join(allowed)}"
                f"{did_you_mean(key, allowed)}"
            )
        if not words:
            raise UsageError(f"{where}: {key} = []: must have at least one value")
    if not all(_holds(word, len(place.slots), where) for word in factors.get("hosts", [])):
        return
    transports = factors.get("transport", ["default"])
    _choices(
        where, "transport", [word for word in transports if not FORCED_COLLECTIVE.fullmatch(word)], TRANSPORTS
    )
    kinds = _choices(where, "placement", factors.get("placement", [binding]), KINDS)
    if not source.person:
        # A benchmark's sweep binds to cores unless the experiment says otherwise.
        kinds = list(dict.fromkeys(binding if kind == BOUND else kind for kind in kinds))
    nodes = _choices(where, "nodes", factors.get("nodes", [ALL]), NODES)
    groups = dict.fromkeys(group for word in nodes for group in (place.groups if word == "types" else (ALL,)))
    for group, transport, kind in itertools.product(groups, transports, kinds):
        placement = Placement(kind, group)
        for ranks in rank_counts(factors.get("ranks", ["all"]), benchmark, place, placement, where):
            values = [
                [
                    value
                    for word in factors.get(name, [str(parameter.default)])
                    for value in values_of(word, parameter, ranks, where)
                ]
                for name, parameter in parameters.items()
            ]
            for point in itertools.product(*values):
                yield Combination(ranks, transport, placement, dict(zip(parameters, point, strict=True)))


def _holds(word: str, hosts: int, where: str) -> bool:
    """Return whether the number of hosts is in a range, either end of which may be open."""
    match = re.fullmatch(r"(\d{0,9})\.\.(\d{0,9})", word)
    if match is None:
        raise UsageError(f"{where}: hosts = {word}: must be a range of numbers: 2..256, ..256 or 257..")
    return int(match[1] or 0) <= hosts <= int(match[2] or hosts)


def values_of(word: str, parameter: Parameter, ranks: int, where: str) -> list[Value]:
    """Read a word that means one value of a parameter, or a range of integers that may end at the ranks."""
    match = re.fullmatch(r"(?:(-?\d{1,18})\.\.)?(ranks(?:-\d{1,18})?|-?\d{1,18})", word)
    if parameter.type == "choice" or match is None or (match[1] is None and "ranks" not in word):
        return [value(word, parameter, where)]
    last = ranks - int(match[2].partition("-")[2] or 0) if match[2].startswith("ranks") else int(match[2])
    first = last if match[1] is None else int(match[1])
    if last - first >= LONGEST_RANGE:
        raise UsageError(
            f"{where}: {parameter.name} = {word}: must be a range of at most {LONGEST_RANGE} integers"
        )
    return [value(str(number), parameter, where) for number in range(first, last + 1)]


def value(word: str, parameter: Parameter, where: str) -> Value:
    """Read one value of a parameter; raises UsageError that says what is allowed."""
    if parameter.type == "choice":
        return _choices(where, parameter.name, [word], parameter.choices)[0]
    low, high = parameter.minimum, parameter.maximum
    try:
        number = units.whole(word)
    except ValueError:
        number = None
    if number is None or (low is not None and number < low) or (high is not None and number > high):
        limits = " ".join(
            [f"from {low}" if low is not None else "", f"to {high}" if high is not None else ""]
        ).strip()
        raise UsageError(
            f"{where}: {parameter.name} = {word}: must be an integer {limits} ({parameter.unit or 'count'});"
            f" {units.SUFFIXES} may follow"
        )
    return number


def rank_counts(
    words: list[str], benchmark: Benchmark, place: Place, placement: Placement, where: str
) -> list[int]:
    """Return the numbers of ranks that the words mean for this benchmark at this place."""
    counts: list[int] = []
    for word in words:
        if word in RANK_RULES:
            room = place.room(placement.on_same_hosts("node") if word == "nodes" else placement)
            fitting = [count for count in _by_rule(word, room, benchmark) if benchmark.ranks.allows(count)]
            counts += fitting or [benchmark.ranks.fewest]
            continue
        try:
            count = units.whole(word)
        except ValueError:
            raise UsageError(
                f"{where}: ranks = {word}: must be a number or one of {', '.join(RANK_RULES)}"
                f"{did_you_mean(word, list(RANK_RULES))}"
            ) from None
        if not benchmark.ranks.allows(count):
            raise UsageError(f"{where}: ranks = {word}: must be {benchmark.ranks.description}")
        counts.append(count)
    return list(dict.fromkeys(counts))


def _by_rule(rule: str, slots: int, benchmark: Benchmark) -> list[int]:
    if rule == "powers":
        return [1 << exponent for exponent in range(slots.bit_length())]
    if rule == "every":
        beyond = [count for exponent in range(4, 24) for count in (3 << exponent - 1, 2 << exponent)]
        smaller = [count for count in [*range(1, EACH_COUNT_UP_TO + 1), *beyond] if count < slots]
        return [*smaller, slots]
    if rule == "squares":
        return [root * root for root in range(1, math.isqrt(slots) + 1)]
    most = benchmark.ranks.up_to(slots)
    return [] if most is None else [most]


def _choices(where: str, key: str, words: Sequence[str], allowed: Sequence[Word]) -> list[Word]:
    choices = [choice for word in words for choice in allowed if choice == word]
    for word in words:
        if word not in allowed:
            raise UsageError(
                f"{where}: {key} = {word}: must be one of {', '.join(allowed)}{did_you_mean(word, list(allowed))}"
            )
    return choices
