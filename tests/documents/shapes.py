"""The shape of what a command prints: labels and structure, without numbers, prefixes of units and bars."""

from __future__ import annotations

import re
from collections.abc import Sequence

NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e[-+]?\d+)?"
UNIT = re.compile(r"# (?:[kKMGTmµn]i?)?(B/s|B|s|bit/s|flop/s|Hz)\b")
BARS = re.compile(r"[█▉▊▋▌▍▎▏░▒▓]+")
VERSION = re.compile(r"\bv\d[\w.]*")
HOST = re.compile(r"\bon [\w.-]+,")
ANSI = re.compile(r"\x1b\[[0-9;]*m")
MOST_DIGITS = 4


def shape(line: str) -> str:
    """Return a line without what varies: `latency 1.37 µs [1.2, 1.5]` is `latency # s [#, #]`."""
    plain = HOST.sub("on HOST,", VERSION.sub("v#", BARS.sub(" ", ANSI.sub("", line))))
    numbers = re.sub(rf"(?<![\w.])[-+±]?(?:{NUMBER})(?![\w])", "#", plain)
    # A value of few launches has no interval; a layer may be faster than the one below it.
    alike = re.sub(r" \[[#, ]+\]", "", re.sub(r"delivers # %|# times", "delivers", numbers))
    return " ".join(UNIT.sub(r"# \1", alike).split())


def lacking(shown: Sequence[str], printed: Sequence[str], varying: str = "") -> list[str]:
    """Return the lines of a page whose shapes were not printed in this order.

    Of lines that match `varying`, as of findings, which depend on the machine, there need be none.
    """
    missing = []
    rest = iter([shape(line) for line in printed])
    for line in shown:
        if not line.strip() or (varying and re.search(varying, line)):
            continue
        wanted = shape(line)
        if not any(wanted == other for other in rest):
            missing.append(line)
            rest = iter([shape(line) for line in printed])
    return missing


def unprintable(text: str) -> list[str]:
    """Return the numbers that no command would print: ungrouped thousands, or too many digits."""
    numbers = re.findall(rf"(?<![\w.:/-])(?:{NUMBER}|\d+)(?![\w:/-])", text)
    return [number for number in numbers if _is_unprintable(number)] + re.findall(r"\d \d{3}(?!\d)", text)


def _is_unprintable(number: str) -> bool:
    if "," in number:
        return False
    digits = number.replace(".", "").lstrip("0")
    return len(digits) > MOST_DIGITS or ("." not in number and len(number) > MOST_DIGITS)
