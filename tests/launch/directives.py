"""The documented grammar of job scripts: what batch systems understand in `#PBS` and `#BSUB` lines.

PBS: qsub(1B) and pbs_resources(7B) of OpenPBS 23. LSF: the reference of bsub, IBM Spectrum LSF 10.1. A line that
these do not allow raises ValueError; else its options are returned with what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

PBS_WITH_VALUE = set("aAcCeJjklmMNopqrRSuvWP")
PBS_ALONE = set("fhIVXz")
LSF_WITH_VALUE = {
    *("a", "app", "b", "C", "c", "clusters", "cwd", "D", "data", "E", "Ep", "e", "eo", "env", "eptl", "ext", "F"),
    *(
        "f",
        "freq",
        "G",
        "g",
        "gpu",
        "hostfile",
        "i",
        "is",
        "J",
        "Jd",
        "jsdl",
        "k",
        "L",
        "Lp",
        "M",
        "m",
        "mig",
        "n",
    ),
    *(
        "network",
        "o",
        "oo",
        "outdir",
        "P",
        "p",
        "Q",
        "q",
        "R",
        "S",
        "sla",
        "sp",
        "T",
        "t",
        "ti",
        "U",
        "u",
        "v",
        "W",
    ),
    *("We", "w", "wa", "wt"),
}
LSF_ALONE = {
    *("ar", "B", "H", "I", "Ip", "IS", "K", "N", "Ne", "ptl", "r", "rn", "rnc", "ul", "V", "x", "XF", "Zs")
}
NAME = re.compile(r"[A-Za-z][A-Za-z0-9+._-]{0,229}")
"""Of a job: alphabetic first, at most 230 characters."""
RESOURCE = re.compile(r"[A-Za-z][\w.-]*=[^:+=\s]+")
CLOCK = re.compile(r"\d+|(?:(?:\d+:)?[0-5]\d:)[0-5]\d|\d+:[0-5]\d:[0-5]\d")


def words_of(line: str) -> list[str]:
    """Return the words of a directive: quotes hold what is between them, a backslash the letter after it."""
    words: list[str] = []
    word: str | None = None
    rest = iter(line)
    for letter in rest:
        if letter in "'\"":
            word = word or ""
            while (inside := next(rest, None)) != letter:
                if inside is None:
                    raise ValueError(f"{line}: no closing {letter}")
                word += inside
        elif letter.isspace():
            words += [word] if word is not None else []
            word = None
        else:
            word = (word or "") + (next(rest, "") if letter == "\\" else letter)
    return words + ([word] if word is not None else [])


def pbs(lines: Iterable[str]) -> dict[str, str]:
    """Return the options of `#PBS` lines: `N`, `o`, ...; of `-l` each resource by its name."""
    found: dict[str, str] = {}
    for line in lines:
        words = words_of(_after(line, "#PBS "))
        while words:
            option, *words = words
            letter, value = option[1:2], option[2:]
            if option[:1] != "-" or letter not in PBS_WITH_VALUE | PBS_ALONE:
                raise ValueError(f"{line}: {option}: is no option of qsub")
            if letter in PBS_WITH_VALUE:
                if not value and not words:
                    raise ValueError(f"{line}: -{letter}: needs a value")
                value = value or words.pop(0)
            elif value:
                raise ValueError(f"{line}: -{letter}: takes no value")
            found.update(_resources(line, value) if letter == "l" else {letter: value})
    _check_pbs(found)
    return found


def _resources(line: str, value: str) -> dict[str, str]:
    name, equals, asked = value.partition("=")
    if name == "select":
        for chunk in asked.split("+"):
            first, *further = chunk.split(":")
            resources = further if first.isdigit() else [first, *further]
            counted = not first.isdigit() or int(first) > 0
            if not counted or not all(RESOURCE.fullmatch(one) for one in resources):
                raise ValueError(f"{line}: select: {chunk}: must be [N:]resource=value[:resource=value ...]")
    elif name == "place":
        parts = asked.split(":")
        kinds = [{"free", "pack", "scatter", "vscatter"}, {"excl", "shared", "exclhost"}]
        order = [next((n for n, kind in enumerate(kinds) if part in kind), 2) for part in parts]
        grouped = all(part.startswith("group=") for n, part in zip(order, parts, strict=True) if n == 2)
        if order != sorted(set(order)) or not grouped:
            raise ValueError(f"{line}: place: {asked}: must be [arrangement][:sharing][:group=resource]")
    elif name == "walltime":
        if CLOCK.fullmatch(asked) is None:
            raise ValueError(f"{line}: walltime: {asked}: must be seconds or [[HH:]MM:]SS")
    elif not equals:
        raise ValueError(f"{line}: -l {value}: must be resource=value")
    return {name: asked}


def _check_pbs(found: dict[str, str]) -> None:
    checks = {
        "N": NAME.fullmatch,
        "j": re.compile("oe|eo|n").fullmatch,
        # The part before a colon would be a host, unless it has a slash.
        "o": re.compile(r"/[^\x00-\x1f]*").fullmatch,
        "q": re.compile(r"[\w.-]+(@[\w.-]+)?|@[\w.-]+").fullmatch,
    }
    for letter, check in checks.items():
        if letter in found and check(found[letter]) is None:
            raise ValueError(f"-{letter} {found[letter]}: is not as documented")


def lsf(lines: Iterable[str]) -> dict[str, str]:
    """Return the options of `#BSUB` lines."""
    found: dict[str, str] = {}
    for line in lines:
        words = words_of(_after(line, "#BSUB "))
        while words:
            option, *words = words
            name = option[1:]
            if option[:1] != "-" or name not in LSF_WITH_VALUE | LSF_ALONE:
                raise ValueError(f"{line}: {option}: is no option of bsub")
            if name in LSF_WITH_VALUE and not words:
                raise ValueError(f"{line}: -{name}: needs a value")
            found[name] = words.pop(0) if name in LSF_WITH_VALUE else ""
    _check_lsf(found)
    return found


def _check_lsf(found: dict[str, str]) -> None:
    checks = {
        "n": re.compile(r"[1-9]\d*(,[1-9]\d*)?").fullmatch,
        "W": re.compile(r"(\d+:)?\d+(/[\w.-]+)?").fullmatch,
        "R": re.compile(r"span\[(hosts=-?1|(ptile|block)=[1-9]\d*)\]").fullmatch,
        "m": re.compile(r"[\w.-]+(\+\d*)?( [\w.-]+(\+\d*)?)*").fullmatch,
        "J": re.compile(r"[^\s/\[\]]{1,4094}").fullmatch,
        # %J and %I would become numbers of the job.
        "o": re.compile(r"(?:(?!%[JI]).)+").fullmatch,
    }
    for name, check in checks.items():
        if name in found and check(found[name]) is None:
            raise ValueError(f"-{name} {found[name]}: is not as documented")
    ptile = re.search(r"ptile=(\d+)", found.get("R", ""))
    if ptile and int(ptile[1]) > int(found["n"].partition(",")[0]):
        raise ValueError(f"-R {found['R']}: a host cannot get more processors than the job")


def _after(line: str, prefix: str) -> str:
    if not line.startswith(prefix):
        raise ValueError(f"{line}: must begin with {prefix}")
    return line.removeprefix(prefix)
