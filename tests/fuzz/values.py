"""Hostile values: what people mistype, what programs mangle, and what breaks parsers."""

from __future__ import annotations

import datetime
import math
import random
from typing import Any

WORDS = (
    *(
        "",
        " ",
        "-",
        "--",
        "=",
        ",",
        ":",
        "..",
        ".",
        "/",
        "~",
        "~nobody-of-this-name/x",
        "*",
        "[",
        "{x}",
        "%s",
        "\\",
    ),
    *(
        "0",
        "1",
        "2",
        "-1",
        "4096",
        "999999999999999999999",
        "9" * 5000,
        "1e309",
        "nan",
        "inf",
        "-inf",
        "1_000",
        "0x10",
    ),
    *(
        "1.5",
        "1Ki",
        "-1Ki",
        "1..7",
        "7..1",
        "1..999999999",
        "٣",
        "²",
        "true",
        "None",
        "a\nb",
        "a\rb",
        "\x1b[2J",
        "é",
    ),
    *(
        "\udce9",
        "\N{GRINNING FACE}",
        "$(id)",
        "`id`",
        "; id",
        "'",
        '"',
        "<b>",
        "../../x",
        "x" * 300,
        "A=B",
        "a:2,b:-1",
    ),
    *("mpi.latency", "mpi.*", "mpi", "nosuch", "mpi.latency message_bytes=8", "mpi.latency message_bytes=-1"),
    *("mpi.latency message_bytes=1,2,", "mpi.latency ranks=0", "node.timer ranks=1..4", "algorithm.linpack n=1.5"),
    *("run", "runs/latest", "nosuch/run", "study.toml", "experiment.toml", "lab.toml", "topology.toml", "HPL.dat"),
    *("/dev/null", "/dev/full", "/proc/self/mem", "/dev/stdin", "openmpi", "embedded", "core", "default", "pair"),
)

DEEP: Any = []
for _ in range(60):
    DEEP = [DEEP]

SCALARS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 7, 64, 10**6, 2**31, 2**63 - 1, -(2**63), 10**40, 0.0, 0.5, -0.5, 1e-300, 1e308, 5e-324),
    *(math.nan, math.inf, -math.inf, True, False, "", "1", "nan", "a\nb", "A=B", "../../x", "x" * 500, "{nosuch}"),
    *(datetime.date(2000, 1, 1), datetime.time(1, 2), datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)),
)
COMPOUND: tuple[Any, ...] = ([], {}, [[]], [1, "a"], {"a": 1}, [{}], DEEP, ["", ""], [-1], [1, 1], ["a"] * 300)


def word(chance: random.Random) -> str:
    """Return a word of a command line."""
    return chance.choice(WORDS)


def value(chance: random.Random) -> Any:
    """Return a value of a TOML table."""
    return chance.choice(SCALARS if chance.random() < 0.7 else COMPOUND)


def mangled(content: bytes, chance: random.Random) -> bytes:
    """Return a file as a bad disk, a full one, or a careless copy leaves it; never as it was."""
    place = chance.randrange(len(content)) if content else 0
    lines = content.splitlines(keepends=True)
    line = chance.randrange(len(lines)) if lines else 0
    ways = (
        content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
        if content
        else b"",
        content[:place],
        b"".join(lines[:line]),
        b"".join(lines[:line] + lines[line + 1 :]),
        b"".join([*lines[:line], *lines[line + 1 : line + 2], *lines[line : line + 1], *lines[line + 2 :]]),
        content[:place] + chance.randbytes(chance.randrange(1, 40)) + content[place:],
        content[:place] + bytes(40) + content[place + 40 :],
        content + b"}" * chance.randrange(1, 4),
        content[:place] + b"[" * 20_000 + content[place:],
        content[:place] + b"9" * 5000 + content[place:],
        b"",
    )
    weights = (8, 3, 2, 2, 1, 1, 1, 1, 0.5, 0.5, 0.5)
    changed = chance.choices(ways, weights)[0]
    return changed if changed != content else content + b"\x00"
