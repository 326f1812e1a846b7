"""Damaged outputs of other programs for `scope import`: read where they can be, else refused with their name."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

from tests.fuzz.inputs import Answer, Complaint, Input

DATA = Path(__file__).parents[1] / "imports" / "data"
NUMBERS = (b"-1", b"nan", b"inf", b"1e400", b"0", b"99999999999999999999", b"0x1f", b"1,5", b"", b"--", b"1.2.3")
NOISE = (
    b"srun: error: node7: task 3: Killed\n",
    b"\x1b[31mwarning\x1b[0m\r\n",
    b"[1,0]<stdout>:\n",
    b"\xff\xfe\n",
    b"{\n",
)


def _cut(chance: random.Random, content: bytes) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _flipped(chance: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.randrange(1, 9)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _other_number(chance: random.Random, content: bytes) -> bytes:
    found = list(re.finditer(rb"\d[\d.]*", content))
    if not found:
        return content
    one = chance.choice(found)
    return content[: one.start()] + chance.choice(NUMBERS) + content[one.end() :]


def _other_lines(chance: random.Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    place, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    way = chance.randrange(4)
    if way == 0:
        del lines[place]
    elif way == 1:
        lines[place], lines[other] = lines[other], lines[place]
    elif way == 2:
        lines.insert(place, chance.choice(NOISE))
    else:
        lines[place:place] = lines[min(place, other) : max(place, other)]
    return b"".join(lines)


DAMAGES: tuple[Callable[[random.Random, bytes], bytes], ...] = (_cut, _flipped, _other_number, _other_lines)


def output(chance: random.Random, place: Path) -> Input:
    """Return the import of one or two outputs, damaged up to three times each."""
    files = [f"output{number}.txt" for number in range(chance.choice((1, 1, 2)))]
    for name in files:
        content = chance.choice(sorted(DATA.iterdir())).read_bytes()
        for _ in range(chance.randrange(4)):
            content = chance.choice(DAMAGES)(chance, content) if content else content
        (place / name).write_bytes(content)
    ranks = chance.choice(([], ["--ranks", "4"], ["--ranks", "1"]))
    return Input(["import", *files, *ranks, "-o", "made"], judge=lambda answer: _judged(answer, place / "made"))


def _judged(answer: Answer, made: Path) -> tuple[Complaint, str] | None:
    """Say that a refusal does not name a file, or leaves a folder; or that what was accepted has no figures."""
    if answer.code == 2:
        if "output" not in answer.errors:
            return "silence", f"no file is named: {answer.errors[-500:]}"
        return ("leftover", str(made.name)) if made.exists() else None
    if answer.code == 0 and not any(made.glob("*.json")):
        return "silence", "accepted, but there is no run"
    return None
