"""A requested case: a benchmark and the values of its factors."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hpcscope.errors import WrongValueError
from hpcscope.settings.kinds import Kind

Value = int | str


@dataclass(frozen=True)
class Selection:
    """One `[[case]]`: a benchmark and the values of its factors; their product is run."""

    benchmark: str
    given: dict[str, Value | list[Value]] = field(default_factory=dict)

    @property
    def factors(self) -> dict[str, list[str]]:
        """Every factor with its values as text."""
        return {
            key: [str(element) for element in value] if isinstance(value, list) else [str(value)]
            for key, value in self.given.items()
        }


class CaseKind(Kind):
    """A case: a table in files, or a text such as `mpi.latency message_bytes=0,1Ki mode=standard`."""

    def __init__(self) -> None:
        super().__init__(metavar="CASE")

    def read(self, value: Any) -> Selection:
        """Return the case."""
        if isinstance(value, Selection):
            return value
        if isinstance(value, str):
            benchmark, _, rest = value.strip().partition(" ")
            return Selection(benchmark, {key: list(words) for key, words in factors(rest).items()})
        if not isinstance(value, dict):
            raise ValueError("must be a table, or a text such as 'mpi.latency message_bytes=0,1Ki'")
        given = dict(value)
        if "benchmark" not in given:
            raise WrongValueError(".benchmark", None, "missing; every case names its benchmark")
        benchmark = given.pop("benchmark")
        if not isinstance(benchmark, str):
            raise WrongValueError(".benchmark", benchmark, "must be a text")
        for key, each in given.items():
            words = each if isinstance(each, list) else [each]
            if any(isinstance(word, bool) or not isinstance(word, Value) for word in words):
                raise WrongValueError(f".{key}", each, "must be an integer, a word, or a list of them")
        return Selection(benchmark, given)

    def plain(self, value: Selection) -> dict[str, Any]:
        """Return the case in the form of files."""
        return {"benchmark": value.benchmark, **value.given}


def selected(cases: Iterable[dict[str, Any]]) -> tuple[Selection, ...]:
    """Return the cases of tables."""
    return tuple(CaseKind().read(case) for case in cases)


def factors(text: str) -> dict[str, list[str]]:
    """Split `ranks=2 mode=standard,ready` into factors; raises ValueError for a word that is not `key=value`."""
    found: dict[str, list[str]] = {}
    for word in text.split():
        match = re.fullmatch(r"([\w.]+)=([^=\s]+)", word)
        if match is None or not all(match[2].split(",")):
            raise ValueError(f"{word!r}: must be key=value or key=value,value")
        if match[1] in found:
            raise ValueError(f"{match[1]}: given twice; give its values in one list")
        found[match[1]] = match[2].split(",")
    return found
