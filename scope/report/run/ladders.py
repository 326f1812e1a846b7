"""How a ladder is drawn: what is written above it, how long its bars are, what each rung keeps."""

from __future__ import annotations

from scope import units
from scope.models.fit import Ladder, Rung

_QUANTITIES = {"bandwidth_bytes_per_s": "Bandwidth", "latency_s": "Latency", "flops_per_s": "Arithmetic rate"}


def caption(ladder: Ladder) -> str:
    """Say what the ladder shows: `Bandwidth, shared memory inside a host, 4 MiB`."""
    words = [_QUANTITIES[ladder.quantity], ladder.path]
    words += ["a stream of messages"] if ladder.exchange == "stream" and "memory" not in ladder.path else []
    words += [units.size(ladder.message_bytes)] if ladder.message_bytes is not None else []
    return ", ".join(words)


def length(ladder: Ladder, rung: Rung) -> float:
    """Return the share of the full width that a rung's bar takes: its value against the largest on the ladder."""
    largest = max((one.value for one in ladder.rungs if one.value), default=0.0)
    return rung.value / largest if rung.value and largest else 0.0


def kept(rung: Rung) -> tuple[str, str]:
    """Return the share kept of the layer below and its interval, `44 %` and `[43, 46]`; empty where unknown."""
    if rung.retained is None:
        return "", ""
    head, _, interval = units.share(rung.retained, rung.retained_low, rung.retained_high).partition(" [")
    return head, "[" + interval if interval else ""


def retained(rung: Rung) -> str:
    """Return what is kept of the layer below with its interval; empty on the lowest rung."""
    return " ".join(("keeps", *filter(None, kept(rung)))) if rung.retained is not None else ""
