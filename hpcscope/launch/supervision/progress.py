"""The progress file of a launch: one slot of 256 bytes per rank, renewed twice a second by the rank itself."""

from dataclasses import dataclass, field
from pathlib import Path

SLOT_BYTES = 256


@dataclass(frozen=True)
class Slot:
    """What one rank says of itself."""

    rank: int
    host: str
    pid: int
    position: int
    """Of the case in its launch."""
    stage: str
    """`connecting`, `synchronizing-clocks`, `preparing`, `warming-up`, `sampling`, `verifying`, `writing` or
    `finished`."""
    repetition: int
    heartbeat_unix_s: float

    @property
    def advance(self) -> tuple[int, int]:
        """How far the rank has come: case and repetition."""
        return self.position, self.repetition


def read(path: Path) -> list[Slot]:
    """Return the filled slots; one that is being written is left out."""
    try:
        data = path.read_bytes()
    except OSError:
        return []
    slots = (data[start : start + SLOT_BYTES] for start in range(0, len(data), SLOT_BYTES))
    return [slot for text in slots if (slot := _parse(text)) is not None]


@dataclass
class Watch:
    """When each rank last gave a sign of life, by the clock of this process (hosts' clocks may differ)."""

    path: Path
    slots: dict[int, Slot] = field(default_factory=dict)
    seen_s: dict[int, float] = field(default_factory=dict)

    def read(self, now_s: float) -> None:
        """Update the slots as they are at `now_s`."""
        for slot in read(self.path):
            if self.slots.get(slot.rank) != slot:
                self.slots[slot.rank] = slot
                self.seen_s[slot.rank] = now_s


def _parse(text: bytes) -> Slot | None:
    try:
        fields = dict(word.split("=", 1) for word in text.decode().split())
        return Slot(
            rank=int(fields["rank"]),
            host=fields["host"],
            pid=int(fields["pid"]),
            position=int(fields["position"]),
            stage=fields["stage"],
            repetition=int(fields["repetition"]),
            heartbeat_unix_s=float(fields["beat_unix_s"]),
        )
    except (ValueError, KeyError):
        return None
