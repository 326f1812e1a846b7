"""What the native program printed on a host, read strictly: a host may be broken in any way."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from hpcscope.health.checks import BY_NAME
from hpcscope.health.records import Visit

THERE = {"begun": "begun_there_unix_s", "ended": "ended_there_unix_s"}
LONGEST = 2_000_000
"""Characters of an answer; a host with 1,000 interfaces prints fewer."""


def read(text: str, visit: dict[str, Any], reason: str) -> Visit:
    """Return a visit with what was printed; `reason`: why it is not whole, where the last line is missing."""
    found: dict[str, Any] = {"values": []}
    for line in text[:LONGEST].splitlines():
        try:
            said = json.loads(line)
        except (ValueError, RecursionError):
            continue  # greetings of a login shell
        if isinstance(said, dict):
            _take(said, found)
    if "ended_there_unix_s" not in found:
        found["error"] = reason or "the check did not come to its end"
    try:
        return Visit.model_validate({**visit, **found})
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        return Visit.model_validate({**visit, "error": f"its answer is damaged: {where}"})


def _take(said: dict[str, Any], found: dict[str, Any]) -> None:
    if said.get("check") in BY_NAME:
        found["values"].append(said)
    for key in ("begun", "ended", "facts", "before", "after"):
        if key in said:
            found[THERE.get(key, key)] = said[key]
