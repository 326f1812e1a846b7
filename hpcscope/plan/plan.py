"""The plan: which cases run in which launch, and in which order.

A launch is one start of the native program and visits each case of a batch once: all cases with one number of
ranks, transport and placement. Every batch is launched several times, because launches and moments differ. The
order of cases in a launch, and of the launches, is shuffled with a seed that the plan keeps. Cases that will be
compared stay side by side.

The first visit to a case is long enough to show how many repetitions are warm-up. Later visits are short, because
visits seconds apart differ far more than the repetitions of a visit.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hpcscope.catalog.benchmark import MODULES, Benchmark
from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.pattern import matches, matches_any
from hpcscope.errors import UsageError
from hpcscope.plan import sweep
from hpcscope.plan.case import Batch, Key
from hpcscope.plan.case import key as key_of
from hpcscope.plan.order import Compared, compared, side_by_side
from hpcscope.plan.place import Place
from hpcscope.plan.placement import Placement
from hpcscope.plan.sweep import Combination, Source
from hpcscope.rundirectory import Skipped, read_text
from hpcscope.settings.experiment import Experiment, Module
from hpcscope.settings.kinds import did_you_mean
from hpcscope.settings.selection import Value

FORMAT = 2
WITHOUT_MESSAGES_OF_MPI = ("node", "device", "network", "storage")
"""Levels whose benchmarks do not measure MPI messages."""
MODULE_TIME_S: dict[Module, float] = {"standard": 1400.0, "advanced": 3600.0}
"""Measuring time in seconds if the experiment gives none; the baseline takes what its launches need."""
LAUNCHES = 6
"""Fewest launches whose medians give an interval."""
START_S = 0.5
"""Assumed cost of starting and ending a launch."""
CASE_OVERHEAD_S = 0.02
"""Assumed cost of preparing, warming up and verifying a case, in addition to its budget."""
FIRST_VISIT: dict[str, Value | float] = {
    "budget_s": 0.02,
    "minimum_repetitions": 20,
    "maximum_repetitions": 200,
}
LATER_VISIT: dict[str, Value | float] = {
    "budget_s": 0.003,
    "minimum_repetitions": 5,
    "maximum_repetitions": 20,
}
MOST_VISITS = 1_000_000
"""Most visits of a plan: the product of many ranges would fill the memory before the first launch."""


@dataclass(frozen=True)
class PlannedCase:
    """One benchmark with its parameters, and how one visit samples it."""

    benchmark: str
    parameters: dict[str, Value]
    sampling: dict[str, Value | float] = field(default_factory=dict)

    @property
    def budget_s(self) -> float:
        """Sampling time in seconds."""
        return float(self.sampling.get("budget_s", FIRST_VISIT["budget_s"]))

    @property
    def expected_s(self) -> float:
        """Time in seconds of a visit that uses its whole budget, with preparation and verification."""
        return self.budget_s + CASE_OVERHEAD_S

    @property
    def precision(self) -> float:
        """Target relative half width of the interval; 0 if the plan has none."""
        return float(self.sampling.get("precision", 0.0))

    @property
    def settings(self) -> str:
        """The parameters as `plan.txt` spells them."""
        return _words(self.parameters)

    def line(self, position: int | None = None) -> str:
        """Return the case as a line of a plan."""
        sampling = {f"sampling.{key}": value for key, value in self.sampling.items()}
        place = {} if position is None else {"case.position": position}
        return " ".join(filter(None, [self.benchmark, self.settings, _words(sampling), _words(place)]))


@dataclass(frozen=True)
class Launch:
    """One start of the native program; the position of a case is its index."""

    number: int
    ranks: int
    transport: str
    placement: Placement
    cases: tuple[PlannedCase, ...]

    @property
    def expected_s(self) -> float:
        """Time of the launch if every case uses its whole budget."""
        return START_S + sum(case.expected_s for case in self.cases)

    @property
    def batch(self) -> Batch:
        """Ranks, transport and placement, which the launch fixes for all its cases."""
        return self.ranks, self.transport, self.placement

    def key(self, case: PlannedCase) -> Key:
        """Return the identity of one of its cases, which is the same in every launch of the batch."""
        return key_of(case.benchmark, case.parameters, self.batch)

    def line(self) -> str:
        """Return the launch as a line of a plan."""
        return f"launch {self.number} ranks={self.ranks} transport={self.transport} placement={self.placement}"


@dataclass(frozen=True)
class Plan:
    """`plan.txt`, and the cases left out of it."""

    seed: int
    module: Module
    launches: tuple[Launch, ...]
    skipped: tuple[Skipped, ...] = ()

    def with_launches(self, further: Iterable[Launch]) -> Plan:
        """Return the plan with further launches after its own, with consecutive numbers."""
        launches = list(self.launches)
        for launch in further:
            launches.append(replace(launch, number=len(launches) + 1))
        return replace(self, launches=tuple(launches))


def make(experiment: Experiment, catalog: Catalog, place: Place, where: str) -> Plan:
    """Return the plan of an experiment at a place.

    `where` names the experiment's file in messages. Raises UsageError for what cannot be run as requested, or if
    nothing is left to run.
    """
    per_host, allowed = experiment.launcher.ranks_per_host, experiment.launcher.oversubscribe
    if place.crowded and not allowed:
        raise UsageError(
            f"{where}: launcher.ranks_per_host = {per_host}: must be at most {min(place.slots)}, the slots of a"
            " host; --oversubscribe allows more"
        )
    skipped: list[Skipped] = []
    batches: dict[Batch, dict[str, PlannedCase]] = {}
    repetitions = launches_of(experiment)
    for number, asked in enumerate(_asked(experiment, catalog, place, where, skipped), start=1):
        if number * repetitions > MOST_VISITS:
            raise UsageError(
                f"{where}: has over {number - 1} cases with {repetitions} launches each; must have at most "
                f"{MOST_VISITS:,} launches of cases in total"
            )
        benchmark, combination, source = asked
        sampling = experiment.sampling.plain()
        case = PlannedCase(benchmark.name, combination.parameters, sampling)
        if reason := _misfit(benchmark, combination, place, experiment, source):
            skipped.append(reason)
            continue
        settled = (combination.ranks, combination.transport, _settled(combination, place))
        batch = batches.setdefault(settled, {})
        batch.setdefault(case.line(), case)
    if not batches:
        none = f"no case of {', '.join(experiment.only) or 'any benchmark'}; try --module standard, or only --case"
        reasons = "; ".join(sorted({case.reason for case in skipped})) or none
        raise UsageError(f"{where}: nothing to run: {reasons}")
    seed = experiment.seed if experiment.seed is not None else random.SystemRandom().randrange(2**31)
    ordered = {batch: list(cases.values()) for batch, cases in batches.items()}
    launches = shuffled(ordered, repetitions, seed, compared(catalog))
    return Plan(seed, experiment.module, launches, tuple(dict.fromkeys(skipped)))


def write(plan: Plan) -> str:
    """Return the text of `plan.txt`."""
    reasons = Counter(skipped.reason for skipped in plan.skipped)
    cases = sum(len(launch.cases) for launch in plan.launches)
    lines = [f"{header(plan.seed, plan.module)} launches={len(plan.launches)} cases={cases}"]
    lines += [f"# left out: {reason}: {number}" for reason, number in reasons.items()]
    for launch in plan.launches:
        lines += [launch.line(), *(case.line() for case in launch.cases)]
    return "\n".join(lines) + "\n"


def write_attempt(plan: Plan, launch: Launch, positions: Iterable[int]) -> str:
    """Return the plan for one attempt of a launch: these cases, which keep their positions."""
    lines = [header(plan.seed, plan.module), f"# {launch.line()}"]
    return "\n".join([*lines, *(launch.cases[position].line(position) for position in positions)]) + "\n"


def header(seed: int, module: str) -> str:
    """Return a plan's first line."""
    return f"# scope plan format={FORMAT} seed={seed} module={module}"


def read(path: Path) -> Plan:
    """Read `plan.txt`; raises UsageError naming file, line and allowed values."""
    text = read_text(path)
    first, *lines = text.splitlines() or [""]
    head = re.fullmatch(r"# scope plan format=(\d+) seed=(\d+) module=(\w+)( launches=\d+ cases=\d+)?", first)
    if head is None:
        raise UsageError(f"{path}:1: {first[:60]!r}: must be '# scope plan format=N seed=N module=NAME'")
    if int(head[1]) != FORMAT:
        raise UsageError(f"{path}:1: format = {head[1]}: must be {FORMAT}")
    launches: list[Launch] = []
    for number, line in enumerate(lines, start=2):
        if not line.strip() or line.startswith("# left out: "):
            continue
        where = f"{path}:{number}"
        launch = re.fullmatch(r"launch (\d+) ranks=(\d+) transport=([\w.-]+) placement=([\w:]+)", line)
        if launch:
            launches.append(Launch(int(launch[1]), int(launch[2]), launch[3], _placement(launch[4], where), ()))
        elif launches:
            case = _read_case(line, where)
            launches[-1] = replace(launches[-1], cases=(*launches[-1].cases, case))
        else:
            raise UsageError(f"{where}: {line[:60]!r}: must be 'launch N ranks=R transport=T placement=P'")
    module = next((module for module in MODULES if module == head[3]), None)
    if module is None:
        raise UsageError(f"{path}:1: module = {head[3]}: must be one of {', '.join(MODULES)}")
    there = f" launches={len(launches)} cases={sum(len(launch.cases) for launch in launches)}"
    if head[4] not in (None, there):
        raise UsageError(
            f"{path}: has{there}: must have{head[4]}, as its first line says; the file was cut or changed"
        )
    return Plan(int(head[2]), module, tuple(launches))


def total_s(experiment: Experiment) -> float | None:
    """Return the time for the whole experiment in s; None: the time that its launches need."""
    return experiment.time_s or (None if experiment.case else MODULE_TIME_S.get(experiment.module))


def launches_of(experiment: Experiment) -> int:
    """Return the number of launches per case; cases with wide intervals get more unless the number is given."""
    return experiment.launches or LAUNCHES


def expected_s(plan: Plan) -> float:
    """Return how long the plan takes if every case uses its whole budget."""
    return sum(launch.expected_s for launch in plan.launches)


def _asked(
    experiment: Experiment,
    catalog: Catalog,
    place: Place,
    where: str,
    skipped: list[Skipped],
) -> Iterator[tuple[Benchmark, Combination, Source]]:
    """Yield every point that the experiment requests, or else the module's sweeps."""
    binding = experiment.launcher.binding
    refuse_unknown(experiment.only, catalog.names, where)
    for index, selection in enumerate(experiment.case):
        source = Source(f"{where}: case[{index}]", person=True)
        benchmark = catalog.get(selection.benchmark)
        if benchmark is None:
            near = did_you_mean(selection.benchmark, catalog.names)
            raise UsageError(
                f"{source.name}: benchmark = {selection.benchmark}: unknown benchmark{near}; see `scope list`"
            )
        if not matches_any(benchmark.name, experiment.only):
            continue
        factors = dict(selection.factors)
        if experiment.ranks:
            factors.setdefault("ranks", [str(count) for count in experiment.ranks])
        _take_transports(factors, benchmark, experiment)
        _take_groups(factors, experiment)
        for point in sweep.expand(factors, benchmark, place, binding, source):
            yield benchmark, point, source
    if experiment.case:
        return
    # Benchmarks requested by name need no --module: the smallest module with a match is used.
    least = {
        pattern: min(MODULES.index(benchmark.module) for benchmark in catalog.matching([pattern]))
        for pattern in experiment.only
    }
    for benchmark in catalog.matching(experiment.only):
        fitting = [count for count in experiment.ranks if benchmark.ranks.allows(count)]
        if experiment.ranks and not fitting:
            counts = ", ".join(map(str, experiment.ranks))
            reason = f"ranks = {counts}: must be {benchmark.ranks.description}"
            skipped.append(Skipped(benchmark=benchmark.name, case="", reason=reason))
            continue
        chosen = [least[pattern] for pattern in experiment.only if matches(benchmark.name, pattern)]
        modules = MODULES[: max([MODULES.index(experiment.module), *chosen]) + 1]
        for each in benchmark.sweeps:
            if each.module in modules:
                name = where if fitting else f"{benchmark.source}: {each.module} sweep"
                source = Source(name, person=bool(fitting))
                factors = sweep.parse(each.cases, source.name)
                if fitting:
                    factors["ranks"] = [str(count) for count in fitting]
                _take_transports(factors, benchmark, experiment)
                _take_groups(factors, experiment)
                for point in sweep.expand(factors, benchmark, place, binding, source):
                    yield benchmark, point, source


def _take_transports(factors: dict[str, list[str]], benchmark: Benchmark, experiment: Experiment) -> None:
    """Add the experiment's transports if MPI carries the messages and the factors name no transport."""
    if experiment.transport and benchmark.level not in WITHOUT_MESSAGES_OF_MPI:
        factors.setdefault("transport", list(experiment.transport))


def _take_groups(factors: dict[str, list[str]], experiment: Experiment) -> None:
    """Add the sub-clusters of equal hosts if the experiment requests them and the factors name no hosts."""
    if experiment.by is not None:
        factors.setdefault("nodes", list(sweep.NODES))


def refuse_unknown(patterns: Sequence[str], names: list[str], where: str) -> None:
    """Raise UsageError for a pattern that no benchmark's name matches."""
    for pattern in patterns:
        if not any(matches(name, pattern) for name in names):
            near = did_you_mean(pattern, names)
            raise UsageError(f"{where}: only = {pattern}: unknown benchmark{near}; see `scope list`")


def _misfit(
    benchmark: Benchmark, point: Combination, place: Place, experiment: Experiment, source: Source
) -> Skipped | None:
    """Return why a point cannot run here; None if it can. A user's request for too many ranks is refused.

    A module never changes a case: one that does not fit is left out. Only the smallest number of ranks that a
    benchmark supports runs on any machine.
    """

    def left_out(reason: str, resource: str = "") -> Skipped:
        case = _asked_text(point)
        return Skipped(benchmark=benchmark.name, case=case, reason=reason, resource=resource)

    if not benchmark.available:
        return left_out(benchmark.reason)
    room = place.room(point.placement)
    here = f"but there {'is' if room == 1 else 'are'} {room}"
    if not place.oversubscribes(point.ranks, point.placement):
        return None
    if point.placement.one_per_host:
        return left_out(f"one rank on each host needs {point.ranks} hosts, {here}", "hosts")
    if experiment.launcher.oversubscribe:
        return None
    if source.person:
        raise UsageError(
            f"{source.name}: ranks = {point.ranks}: must be at most {room}, the slots here;"
            " --oversubscribe allows more"
        )
    if point.ranks == benchmark.ranks.fewest:
        return None
    return left_out(f"needs {point.ranks} slots, {here}", "slots")


def _settled(point: Combination, place: Place) -> Placement:
    """Return the placement that a point gets: if there is no choice, the placement that says so."""
    if place.oversubscribes(point.ranks, point.placement):
        return point.placement.on_same_hosts("none")
    alone = point.placement.one_per_host and point.ranks == 1
    return point.placement.on_same_hosts("core") if alone else point.placement


def _asked_text(point: Combination) -> str:
    placement = ["placement=node"] if point.placement.one_per_host else []
    words = [f"ranks={point.ranks}", f"transport={point.transport}", *placement, _words(point.parameters)]
    return " ".join(filter(None, words))


def shuffled(
    batches: dict[Batch, list[PlannedCase]],
    repetitions: int,
    seed: int,
    groups: Compared | None = None,
) -> tuple[Launch, ...]:
    """Return every batch `repetitions` times, with cases shuffled inside it and launches shuffled in rounds.

    A round contains each batch once, so that slow drift of the machine affects all batches alike. `groups`: groups
    of cases that stay together in every order.
    """
    chance = random.Random(seed)
    launches: list[Launch] = []
    for repetition in range(repetitions):
        turn = sorted(batches)
        chance.shuffle(turn)
        for ranks, transport, placement in turn:
            usual = LATER_VISIT if repetition else FIRST_VISIT
            cases = [_visited(case, usual) for case in batches[ranks, transport, placement]]
            order = side_by_side(cases, groups, chance)
            launches.append(Launch(len(launches) + 1, ranks, transport, placement, tuple(order)))
    return tuple(launches)


def _visited(case: PlannedCase, usual: Mapping[str, Value | float]) -> PlannedCase:
    """Return the case with its sampling for a visit: the experiment's settings, else the usual ones."""
    asked = case.sampling.keys() & usual.keys()
    return case if asked else replace(case, sampling={**case.sampling, **usual})


def extended(plan: Plan, further: Iterable[Launch]) -> Plan:
    """Return the plan with further launches after its own, without cases that it already has in that batch."""
    planned = {launch.key(case) for launch in plan.launches for case in launch.cases}
    new = (
        replace(launch, cases=tuple(case for case in launch.cases if launch.key(case) not in planned))
        for launch in further
    )
    return plan.with_launches(launch for launch in new if launch.cases)


def _placement(text: str, where: str) -> Placement:
    try:
        return Placement.parse(text)
    except ValueError as error:
        raise UsageError(f"{where}: placement = {text}: {error}") from error


def _read_case(line: str, where: str) -> PlannedCase:
    benchmark, _, rest = line.partition(" ")
    parameters: dict[str, Value] = {}
    sampling: dict[str, Value | float] = {}
    for key, values in sweep.parse(rest, where).items():
        word = ",".join(values)
        if key.startswith("sampling."):
            sampling[key.removeprefix("sampling.")] = _number_or_word(word)
        elif not key.startswith("case."):
            number = _number_or_word(word)
            parameters[key] = word if isinstance(number, float) else number
    return PlannedCase(benchmark, parameters, sampling)


def _number_or_word(word: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _words(values: Mapping[str, Value | float]) -> str:
    return " ".join(f"{key}={value}" for key, value in values.items())
