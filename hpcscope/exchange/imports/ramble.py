"""Ramble, also under Benchpark: `results.latest.txt` and `.json` of a workspace (`dump_results` of workspace.py).

An experiment has figures of merit in contexts, each with a name, a value and a unit declared by its application.
Repeats (`NAME.1`, `NAME.2`) are launches of one case; if only their statistics are available (`--summary-only`),
their mean is used. The text does not contain the number of ranks.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from hpcscope.exchange.imports import MESSAGE_SIZE, Given, MixedRunsError, setting
from hpcscope.exchange.imports.lines import TextLine
from hpcscope.exchange.imports.objects import Printed, elements, mapping
from hpcscope.exchange.imports.quantities import measured
from hpcscope.exchange.imports.reader import DocumentReader
from hpcscope.samples.records import Beside, Statistic

_NAME = "application.ramble"
_WORKSPACE = re.compile(r"From Workspace: .* \(hash: .*\)\s*$")
_EXPERIMENT = re.compile(r"Experiment (\S.*) figures of merit:\s*$")
_STATUS = re.compile(r"\s+Status = (\S+)\s*$")
_CONTEXT = re.compile(r"\s+(\S.*) figures of merit:\s*$")
_OTHER = re.compile(r"\s+(?:Software definitions|Experiment variants|Success criteria summary):\s*$")
_MERIT = re.compile(r' {4}(?:  (?:summary::)?(?P<statistic>\w+)|(?P<name>[^\s"{}].*?)) = (?P<value>.*\S)\s*$')
_OF_REPEATS = re.compile(r"\s+(\S.*):\s*$")
_SIZE = re.compile(r"Message Size: (\d{1,15})$")
_REPEAT = re.compile(r"\.\d+(?=\.chain|$)")
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$")
_COUNTS = ("n_successful_repeats", "n_success_repeats")
_DEFAULT = "default (null)"
_BESIDE: dict[str, Beside] = {"min": "minimum", "max": "maximum"}


class Merit(NamedTuple):
    """A figure of merit."""

    context: str
    name: str
    statistic: str
    """Statistic over repeats; empty if the value is not a statistic."""
    value: str
    unit: str
    better: str
    line: int


@dataclass
class Experiment:
    """An experiment."""

    name: str
    ranks: int | None = None
    status: str = ""
    merits: list[Merit] = field(default_factory=list)


@dataclass
class _Reader(DocumentReader):
    TITLE = "Ramble"
    BEGINS = (_WORKSPACE,)
    CLAIMS = (_EXPERIMENT, re.compile(r'\s*"RAMBLE_STATUS"'))

    _experiments: list[Experiment] = field(default_factory=list)
    """The experiments in the text output."""
    _context: str = ""
    """Current context; empty outside the contexts of an experiment."""
    _name: str = ""
    """Figure of merit that the following statistics belong to."""

    def _document(self, printed: Printed) -> set[int]:
        if not isinstance(printed.value.get("experiments"), list):
            return set()
        self._take(list(_experiments(printed)))
        return printed.numbers

    def _takes(self, line: TextLine) -> bool:
        if experiment := _EXPERIMENT.match(line.text):
            self._experiments.append(Experiment(experiment[1]))
            self._context = ""
        elif not self._experiments or line.text[0] != " ":
            return _WORKSPACE.match(line.text) is not None
        elif context := _CONTEXT.match(line.text):
            self._context = context[1].removesuffix(" context")
        elif _OTHER.match(line.text):
            self._context = ""
        elif not self._context:
            if (status := _STATUS.match(line.text)) and not self._experiments[-1].status:
                self._experiments[-1].status = status[1]
        elif merit := _MERIT.match(line.text):
            statistic = "" if merit["statistic"] == "value" else merit["statistic"] or ""
            value, _, unit = merit["value"].partition(" ")
            if not _NUMBER.match(value):
                value, unit = merit["value"], ""
            of = Merit(self._context, merit["name"] or self._name, statistic, value, unit, "higher", line.number)
            self._experiments[-1].merits.append(of)
        elif of_repeats := _OF_REPEATS.match(line.text):
            self._name = of_repeats[1]
        else:
            return False
        return True

    def close(self) -> None:
        """Add the experiments of the text output."""
        self._take(self._experiments)

    def _take(self, experiments: Sequence[Experiment]) -> None:
        for name, count in Counter(one.name for one in experiments).items():
            if count > 1:
                raise MixedRunsError(name)
        bases = {one.name for one in experiments if any(merit.statistic for merit in one.merits)}
        roots = {one.name: _REPEAT.sub("", one.name) for one in experiments}
        repeated = {root for name, root in roots.items() if root != name}
        for one in experiments:
            if not one.merits:
                said = f"its status is {one.status}" if one.status else "the output is truncated"
                self.differences.append(f"{self.TITLE}: {one.name} has no values: {said}")
            elif one.name in bases:
                self.differences.append(f"{self.TITLE}: medians and deviations over repeats are left out")
                if one.name not in repeated:
                    self._mean(one)
            else:
                name = roots[one.name] if roots[one.name] in bases else one.name
                for merit in one.merits:
                    self._merit(replace(one, name=name), merit)

    def _mean(self, one: Experiment) -> None:
        statistics: dict[tuple[str, str], dict[str, Merit]] = {}
        for merit in one.merits:
            statistics.setdefault((merit.context, merit.name), {})[merit.statistic] = merit
        counts = [int(each.value) for each in one.merits if each.statistic in _COUNTS and each.value.isdecimal()]
        for of in statistics.values():
            if (mean := of.get("mean") or of.get("")) is not None:
                ends = {key: of[key] for key in _BESIDE if key in of and _NUMBER.match(of[key].value)}
                beside = {_BESIDE[key]: measured(each.value, each.unit)[1] for key, each in ends.items()}
                self._merit(one, mean, "mean", beside=beside, repetitions=counts[0] if counts else None)

    def _merit(self, one: Experiment, merit: Merit, statistic: Statistic = "each", **further: Any) -> None:
        if not _NUMBER.match(merit.value):
            self.differences.append(f"{self.TITLE}: {merit.name} is left out: {merit.value[:40]} is not a number")
            return
        if not merit.unit:
            self.differences.append(f"{self.TITLE}: {merit.name} has no unit")
        metric, value = measured(merit.value, merit.unit, merit.better)
        given = [setting("experiment", one.name, bare=True), setting("figure", merit.name, bare=True)]
        if size := _SIZE.match(merit.context):
            name = f"{_NAME}_messages"
            given.append(Given(MESSAGE_SIZE, int(size[1])))
        else:
            name = _NAME
            given.append(setting("context", merit.context, _DEFAULT, bare=True))
        case = self.foreign(name, f"an experiment of {self.TITLE}", [metric], given, one.ranks)
        failure = "" if one.status in ("", "SUCCESS") else f"status {one.status}"
        self.add(case, value, merit.line, statistic, failure=failure, **further)


def _experiments(document: Printed) -> Iterator[Experiment]:
    """Yield the experiments of a document; each figure of merit has the line number of its value."""
    found = elements(document.value, "experiments")
    merits = [fom for of in found for context in elements(of, "CONTEXTS") for fom in elements(context, "foms")]
    lines = document.having("value")
    if len(lines) != len(merits):  # a variable has the same name
        lines = [document.lines[0].number] * len(merits)
    numbers = iter(lines)
    for of in found:
        one = Experiment(str(of.get("name")), status=str(of.get("RAMBLE_STATUS", "")))
        with suppress(KeyError, TypeError, ValueError):
            one.ranks = int(of["n_ranks"])
        for context in elements(of, "CONTEXTS"):
            where = str(context.get("display_name") or context.get("name")).removesuffix(" context")
            one.merits += [_of_json(where, fom, next(numbers)) for fom in elements(context, "foms")]
        yield one


def _of_json(context: str, fom: Mapping[str, Any], line: int) -> Merit:
    origin, name = str(fom.get("origin_type", "")), str(fom.get("name"))
    if origin == "modifier":
        name = f"modifier::{fom.get('origin')}::{name}"
    statistic = origin.removeprefix("summary::") if origin.startswith("summary::") else ""
    better = "lower" if mapping(fom, "fom_type").get("better_direction") == "LOWER" else "higher"
    return Merit(context, name, statistic, str(fom.get("value")), str(fom.get("units") or ""), better, line)
