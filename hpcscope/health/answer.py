"""What the native program printed on a host, read strictly: a host may be broken in any way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import Field, IPvAnyAddress, ValidationError

from hpcscope.health.checks import BY_NAME
from hpcscope.health.records import LinkVisit, Visit
from hpcscope.strict import Strict

T = TypeVar("T", Visit, LinkVisit)
LINK = ("latency_s", "forward", "backward", "forward_at_once", "backward_at_once")

THERE = {"begun": "begun_there_unix_s", "ended": "ended_there_unix_s"}
LONGEST = 2_000_000
"""Most characters of an answer; a host with 1,000 interfaces prints fewer."""


class Place(Strict):
    """Where a host at the end of a link listens."""

    port: int = Field(gt=0, lt=65536)
    addresses: list[IPvAnyAddress] = Field(min_length=1, max_length=64)


def place(line: str) -> Place | None:
    """Return where a host listens; None if its first line does not say so."""
    try:
        return Place.model_validate_json(line)
    except ValidationError:
        return None


def read(text: str, visit: dict[str, Any], reason: str) -> Visit:
    """Return a visit with what was printed; `reason`: why it is incomplete if the last line is missing."""
    found: dict[str, Any] = {"values": []}
    for said in _lines(text):
        _take(said, found)
    if "ended_there_unix_s" not in found:
        found["error"] = reason or "the check did not finish"
    return _valid(Visit, visit, found)


def read_link(text: str, visit: dict[str, Any], reason: str) -> LinkVisit:
    """Return a measurement of a link with what both hosts printed."""
    found: dict[str, Any] = {}
    for said in _lines(text):
        if isinstance(link := said.get("link"), dict):
            found.update({name: link.get(name) for name in LINK})
    if "latency_s" not in found:
        found["error"] = reason or "the link measurement did not finish"
    return _valid(LinkVisit, visit, found)


def _valid(kind: type[T], visit: dict[str, Any], found: dict[str, Any]) -> T:
    try:
        return kind.model_validate({**visit, **found})
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"])) or "values"
        return kind.model_validate({**visit, "error": f"its answer is damaged: {where}"})


def _lines(text: str) -> Iterator[dict[str, Any]]:
    for line in text[:LONGEST].splitlines():
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue  # greetings of a login shell
        if isinstance(said, dict):
            yield said


def _take(said: dict[str, Any], found: dict[str, Any]) -> None:
    if said.get("check") in BY_NAME:
        found["values"].append(said)
    for key in ("begun", "ended", "facts", "before", "after"):
        if key in said:
            found[THERE.get(key, key)] = said[key]
