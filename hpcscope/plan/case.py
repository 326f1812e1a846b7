"""The identity of a case: everything that is chosen before it runs."""

from __future__ import annotations

from collections.abc import Mapping

from hpcscope.catalog.benchmark import Value
from hpcscope.catalog.catalog import Catalog
from hpcscope.plan.placement import Placement
from hpcscope.settings.transports import ACTIVE_MESSAGES, WITHOUT_FLOW_CONTROL
from hpcscope.strict import Strict

Batch = tuple[int, str, Placement]
"""Ranks, transport and placement, which a launch fixes for all its cases."""

_TRANSPORTS = {
    "default": "default transport",
    "tcp": "TCP",
    ACTIVE_MESSAGES: "active messages",
    WITHOUT_FLOW_CONTROL: "active messages without flow control",
    "collectives": "Scope's collectives",
}


class Case(Strict):
    """One benchmark with its parameters, number of ranks, transport and placement."""

    benchmark: str
    parameters: dict[str, Value]
    ranks: int
    transport: str
    placement: Placement
    label: str
    """The display name: `ping-pong, 1 MiB, 2 ranks`; parameters at their defaults are left out."""

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        benchmark: str,
        parameters: Mapping[str, Value],
        batch: Batch,
    ) -> Case:
        """Return a case with its label."""
        ranks, transport, placement = batch
        words = [
            catalog.described(benchmark, parameters),
            f"{ranks} rank{'s' if ranks != 1 else ''}",
            *([transport_words(transport)] if transport != "default" else []),
            *placement.words,
        ]
        return cls(
            benchmark=benchmark,
            parameters=dict(parameters),
            ranks=ranks,
            transport=transport,
            placement=placement,
            label=", ".join(words),
        )

    @property
    def batch(self) -> Batch:
        """Ranks, transport and placement, which all cases of a launch share."""
        return self.ranks, self.transport, self.placement

    @property
    def key(self) -> Key:
        """The identity of a case, equal for records of the same case; hashable."""
        return key(self.benchmark, self.parameters, self.batch)

    @property
    def spelling(self) -> str:
        """The case with all its parameters as a plan spells them, and where it runs."""
        words = [self.benchmark, *(f"{name}={value}" for name, value in self.parameters.items())]
        where = [
            f"{self.ranks} rank{'s' if self.ranks != 1 else ''}",
            *([self.transport] if self.transport != "default" else []),
            *self.placement.words,
        ]
        return ", ".join([" ".join(words), *where])

    @property
    def request(self) -> str:
        """The case as `scope run --case` reads it."""
        words = [f"{name}={_typed(name, value)}" for name, value in self.parameters.items()]
        words += [f"ranks={self.ranks}"]
        words += [f"transport={self.transport}"] if self.transport != "default" else []
        words += [f"placement={self.placement.kind}"] if self.placement.kind != "core" else []
        return " ".join([self.benchmark, *words])

    def without(self, catalog: Catalog, *names: str, ranks: int | None = None) -> Case:
        """Return the case without some parameters, for a curve over them, or with another number of ranks."""
        kept = {name: value for name, value in self.parameters.items() if name not in names}
        batch = (self.ranks if ranks is None else ranks, self.transport, self.placement)
        return Case.of(catalog, self.benchmark, kept, batch)


def transport_words(transport: str) -> str:
    """Return a transport in words."""
    return _TRANSPORTS.get(transport, transport)


def over_active_messages(transport: str) -> bool:
    """Return whether Scope's active messages carry the messages of MPI."""
    return transport in (ACTIVE_MESSAGES, WITHOUT_FLOW_CONTROL)


def _typed(name: str, value: Value) -> str:
    """Return a value as users type it: `1Mi` for a size."""
    if name.endswith("_bytes") and isinstance(value, int) and value:
        for suffix, factor in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
            if value % factor == 0:
                return f"{value // factor}{suffix}"
    return str(value)


Key = tuple[str, tuple[tuple[str, str, Value], ...], Batch]


def key(benchmark: str, parameters: Mapping[str, Value], batch: Batch) -> Key:
    """Return the identity of a case, equal for records of the same case; hashable."""
    return (
        benchmark,
        tuple(sorted((name, type(value).__name__, value) for name, value in parameters.items())),
        batch,
    )
