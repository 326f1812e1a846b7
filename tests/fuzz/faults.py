"""Commands on a sound run while something around them fails: the disk, the streams, permissions, patience."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from tests.fuzz import inputs
from tests.fuzz.damage import figures, kept_run, right_rows, small_run
from tests.fuzz.inputs import Answer, Complaint, Input
from tests.fuzz.tables import EXAMPLES

COMMANDS = (
    *(
        ["show", "run"],
        ["show", "run", "--json", "--all"],
        ["analyze", "run"],
        ["report", "run"],
        ["compare", "run", "run"],
    ),
    *(
        ["report", "run", "-o", "page.html"],
        ["topology", "show", "topology.toml"],
        ["campaign", "study.toml", "--dry-run"],
    ),
    *(
        ["run", "experiment.toml", "--submit", "--dry-run"],
        ["topology", "show", "topology.toml", "--html", "page.html"],
    ),
    *(["lab", "list"], ["--help"], ["run", "--case", "node.timer"], ["show", "nosuch"]),
)
OF_A_FORKED_COMMAND: tuple[Callable[[random.Random, Path], inputs.Fault], ...] = (
    lambda chance, _: inputs.full_disk(chance.choice((0, 1, 4096, chance.randrange(300_000)))),
    lambda chance, _: inputs.few_files(chance.randrange(3, 24)),
    lambda _, place: inputs.read_only(place),
    lambda chance, _: inputs.interrupted_at(int(10 ** chance.uniform(0, 6))),
)
OF_STREAMS: tuple[inputs.Fault, ...] = (
    *(inputs.closed(1), inputs.closed(2), inputs.closed(0, 1, 2), inputs.written_to("/dev/full")),
    *(inputs.written_to("/dev/null"), inputs.reader_gone),
)


def faulty(chance: random.Random, place: Path) -> Input:
    """Return a command on a sound run while something fails."""
    if chance.random() < 0.5:
        return streams(chance, place)
    return _with(chance, place, chance.choice(OF_A_FORKED_COMMAND)(chance, place))


def streams(chance: random.Random, place: Path) -> Input:
    """Return a command whose standard streams are closed, full or have no reader."""
    return _with(chance, place, chance.choice(OF_STREAMS))


def of_a_process(chance: random.Random, place: Path) -> Input:
    """Return a command that measures nothing, for a process of its own."""
    made = streams(chance, place)
    while made.words[0] in ("run", "lab"):
        made = _on_the_run(chance, place, made.fault)
    return made


def _with(chance: random.Random, place: Path, fault: inputs.Fault) -> Input:
    small_run(place / "run")
    for name, text in EXAMPLES.items():
        (place / name).write_text(text)
    return _on_the_run(chance, place, fault)


def _on_the_run(chance: random.Random, place: Path, fault: inputs.Fault | None) -> Input:
    words = list(chance.choice(COMMANDS))
    return Input(words, fault, lambda answer: unharmed(answer, words, place / "run"), mute=True)


def unharmed(answer: Answer, words: list[str], run: Path) -> tuple[Complaint, str] | None:
    """Say that figures changed, or a file is half written."""
    for name in ("statistics.json", "models.json", "findings.json"):
        try:
            json.loads((run / name).read_text())
        except ValueError:
            return "silent change", f"{name} was left half written"
    if figures(run / "statistics.json") != figures(kept_run() / "statistics.json"):
        return "silent change", "the figures of a sound run"
    if answer.code == 0 and words[:3] == ["show", "run", "--json"] and answer.output:
        rows = sorted(json.dumps(row, sort_keys=True) for row in json.loads(answer.output))
        return None if rows == right_rows() else ("silent change", "show")
    return None
