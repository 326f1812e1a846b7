"""Drawing of ladders: captions, bar lengths, and the fractions that rungs deliver."""

from hpcscope import units
from hpcscope.models.ladder.rung import Ladder, LadderRung

QUANTITIES = {"bandwidth_bytes_per_s": "Bandwidth", "latency_s": "Latency", "flops_per_s": "Arithmetic rate"}


def caption(ladder: Ladder) -> str:
    """Return the caption of a ladder: `Bandwidth, shared memory inside a host, 4 MiB`."""
    words = [QUANTITIES[ladder.quantity], ladder.path]
    words += ["a stream of messages"] if ladder.exchange == "stream" and "memory" not in ladder.path else []
    words += [units.size(ladder.message_bytes)] if ladder.message_bytes is not None else []
    return ", ".join(words)


def length(ladder: Ladder, rung: LadderRung) -> float:
    """Return the length of a rung's bar: its value relative to the largest on the ladder."""
    largest = max((ladder_rung.value for ladder_rung in ladder.rungs if ladder_rung.value), default=0.0)
    return rung.value / largest if rung.value and largest else 0.0


def exceeds(rung: LadderRung) -> bool:
    """Return whether a rung is better than the layer below (95 % CI); its ratio then is not a fraction."""
    low = rung.retained if rung.retained_low is None else rung.retained_low
    return low is not None and low > 1


def retained_share(rung: LadderRung) -> tuple[str, str]:
    """Return the rung's value relative to the layer below, and the interval; both are empty on the lowest rung.

    Examples: `44 %` and `[43, 46]`, or `1.13 times` and `[1.12, 1.15]`.
    """
    if rung.retained is None:
        return "", ""
    bounds = rung.retained, rung.retained_low, rung.retained_high
    if not exceeds(rung):
        return parted(units.share(*bounds))
    ratio, interval = parted(units.interval(*bounds, ""))
    return f"{ratio} times", interval


def parted(text: str) -> tuple[str, str]:
    """Return a written value and its interval: `44 %` and `[43, 46]`; the interval is empty if there is none."""
    head, _, interval = text.partition(" [")
    return head, f"[{interval}" if interval else ""


def retained(rung: LadderRung) -> str:
    """Return the value relative to the layer below: `delivers 44 % [43, 46]` or `1.13 times [1.12, 1.15]`."""
    words = ["" if exceeds(rung) else "delivers", *retained_share(rung)] if rung.retained else []
    return " ".join(filter(None, words))


def best_rungs(ladder: Ladder) -> list[LadderRung]:
    """Return the best rung of each layer, from the limit upwards; a layer without a value keeps its first rung.

    For a successive ladder, return all rungs.
    """
    if ladder.successive:
        return ladder.rungs
    best: dict[str, LadderRung] = {}
    for rung in ladder.rungs:
        known = best.get(rung.layer)
        if known is None or known.value is None or (rung.value is not None and _better(ladder, rung, known)):
            best[rung.layer] = rung
    return list(best.values())


def _better(ladder: Ladder, rung: LadderRung, other: LadderRung) -> bool:
    first, second = rung.value or 0.0, other.value or 0.0
    return first < second if ladder.quantity == "latency_s" else first > second
