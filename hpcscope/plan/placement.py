"""How a launch places its ranks: `core`, `socket`, `none`, `node` or `threads`, on all hosts or on one type.

Ranks are bound to cores, to sockets or not at all; `node` is one rank on each host; `threads` means unbound ranks
whose threads may all call MPI (MPI_THREAD_MULTIPLE). On a cluster with several types of node, a type after a colon
restricts the launch to hosts of that type: `core:type2`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

Kind = Literal["core", "socket", "none", "node", "threads"]
KINDS: tuple[Kind, ...] = get_args(Kind)
ALL = "all"
"""The group of all hosts."""
_WORDS: dict[Kind, str] = {
    "core": "bound to cores",
    "socket": "bound to sockets",
    "none": "not bound",
    "node": "one per host",
    "threads": "MPI_THREAD_MULTIPLE",
}
_UNSAID: tuple[Kind, ...] = ("core", "socket", "none")
"""Kinds that no label of a case mentions: the binding of ranks follows from the plan."""


@dataclass(frozen=True, order=True)
class Placement:
    """Where the ranks of a launch are placed."""

    kind: Kind = "core"
    group: str = ALL
    """The hosts that are used: `all`, or the hosts of one type, such as `type2`."""

    @classmethod
    def parse(cls, text: str) -> Placement:
        """Read a placement as it is written; raises ValueError for an unknown kind."""
        kind, colon, group = text.partition(":")
        for known in KINDS:
            if kind == known and (group or not colon):
                return cls(known, group or ALL)
        raise ValueError(f"must be one of {', '.join(KINDS)}; a type of node may follow after a colon")

    def __str__(self) -> str:
        return self.kind if self.group == ALL else f"{self.kind}:{self.group}"

    @property
    def one_per_host(self) -> bool:
        """Whether each host has one rank."""
        return self.kind == "node"

    @property
    def words(self) -> list[str]:
        """The placement in words, without the binding."""
        group = [] if self.group == ALL else [f"on {self.group}"]
        return group if self.kind in _UNSAID else [_WORDS[self.kind], *group]

    @property
    def described(self) -> str:
        """The whole placement in words: `bound to cores, on type2`."""
        return _WORDS[self.kind] + ("" if self.group == ALL else f", on {self.group}")

    def on_same_hosts(self, kind: Kind) -> Placement:
        """Return a placement of another kind on the same hosts."""
        return replace(self, kind=kind)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = core_schema.no_info_after_validator_function(cls.parse, core_schema.str_schema())
        return core_schema.json_or_python_schema(
            json_schema=text,
            python_schema=core_schema.union_schema([core_schema.is_instance_schema(cls), text]),
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )
