"""Hostile input at the doors: others' repositories, outputs of other programs, runs to anonymize."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hpcscope.archive.anonymize import KEPT_FIELDS
from hpcscope.archive.index import RunChoice
from hpcscope.archive.repository import Repository
from tests.fuzz import outputs, values
from tests.fuzz.damage import holders, small_run
from tests.fuzz.inputs import Answer, Complaint, Input

Found = tuple[Complaint, str] | None
MARK = "fuzz-was-here"
SCRIPTS = (f"<script>{MARK}()</script>", f"<img src=x onerror={MARK}()>", f"</script><script>{MARK}()</script>")
"""Texts that a page would obey where it does not escape them."""
LIVE = re.compile(rf"<(script|img)[^>]*?>?{MARK}|<img[^>\\]*onerror={MARK}", re.IGNORECASE)
OWN = {"tmp", "home", "runtime"}


def live_script(text: str) -> Found:
    """Say that a page would obey a text of the input."""
    markup = re.sub(r"<script type=.application/json.*?</script>", "", text, flags=re.DOTALL)
    return ("live script", text[found.start() - 80 : found.end() + 80]) if (found := LIVE.search(markup)) else None


# Repositories of others.

RUN_FILE = re.compile(r"[0-9a-f]{16}\.(zip\.xz|json)")
REPOSITORY = {
    ".lock",
    "repository.json",
    "runs",
    "index.sqlite",
    "index.sqlite-wal",
    "index.sqlite-shm",
    "arrived.json",
}
LOCAL_SHELL = (
    '#!/bin/sh\n# As ssh, but to this host: rsync is the other end all the same.\nshift\nexec sh -c "$*"\n'
)


@cache
def kept_repository() -> Path:
    """Return a repository of three runs; made once, removed at the end."""
    folder = tempfile.TemporaryDirectory(prefix="fuzz-repository-")
    holders.append(folder)
    place = Path(folder.name)
    made = Repository(place / "kept", make=True)
    for number in range(3):
        run = small_run(place / f"run{number}")
        (run / "checksums.sha256").unlink()
        record = json.loads((run / "run.json").read_text())
        (run / "run.json").write_text(json.dumps(record | {"name": f"run{number}"}))
        made.add([run], note="as bought")
    return place / "kept"


@cache
def good_runs() -> frozenset[str]:
    """Return the digests of the runs in that repository."""
    return frozenset(_digest(file) for file in (kept_repository() / "runs").glob("*.zip.xz"))


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _linked(file: Path, chance: random.Random) -> None:
    file.unlink()
    file.symlink_to(chance.choice(("/etc/passwd", "../../mine", "../..", file.name, "/dev/zero")))


def _renamed(file: Path, chance: random.Random) -> None:
    names = (
        "conftest.py",
        "-rf",
        "a\nb.json",
        "..json",
        f"{'0' * 16}.zip.xz",
        f"{'f' * 16}.json",
        SCRIPTS[0][:9],
        "x" * 255,
    )
    file.rename(file.with_name(chance.choice(names)))


def _fifo(file: Path, _chance: random.Random) -> None:
    file.unlink()
    os.mkfifo(file)


def _folder(file: Path, _chance: random.Random) -> None:
    file.unlink()
    file.mkdir()


def _executable(file: Path, _chance: random.Random) -> None:
    file.chmod(0o6777)


def _mangled(file: Path, chance: random.Random) -> None:
    file.write_bytes(values.mangled(file.read_bytes(), chance))


def _exchanged(file: Path, chance: random.Random) -> None:
    others = [each for each in sorted(file.parent.iterdir()) if each.is_file() and not each.is_symlink()]
    other = chance.choice(others)
    content = other.read_bytes()
    other.write_bytes(file.read_bytes())
    file.write_bytes(content)


def _noted(file: Path, chance: random.Random) -> None:
    notes = file.with_name(f"{file.name[:16]}.json")
    if notes.is_file() and not notes.is_symlink():
        try:
            said: dict[str, Any] = dict(json.loads(notes.read_bytes()))
        except (ValueError, TypeError):
            return  # mangled before
        name = chance.choice(sorted(said) or ["note"])
        hostile = chance.choice(
            (*SCRIPTS, "\x1b[2J", "‮", 3.9e9, -1, None, [SCRIPTS[0]], {"a": 1}, "x" * 10**6, 1e300)
        )
        notes.write_text(json.dumps(said | {name: hostile}))


HARMS: tuple[Callable[[Path, random.Random], None], ...] = (
    *(_linked, _renamed, _fifo, _folder, _executable),
    *(_mangled, _mangled, _exchanged, _noted, _noted),
)


def exchange(chance: random.Random, place: Path) -> Input:
    """Return a push or pull between two repositories, of which the source is another's."""
    here, there = place / "here", place / "there"
    shutil.copytree(kept_repository(), there)
    (place / "mine").write_text("mine")
    Repository(here, make=True)
    for _ in range(chance.randrange(1, 4)):
        files = [each for each in sorted((there / "runs").iterdir()) if each.is_file() and not each.is_symlink()]
        if chance.random() < 0.1:
            files = [each for each in there.iterdir() if each.is_file() and each.name != ".lock"]
        if files:
            chance.choice(HARMS)(chance.choice(files), chance)
    if chance.random() < 0.05:
        (there / "index.json").write_text(json.dumps({"format": 1, "server": chance.choice(values.WORDS)}))
    shell = place / "home" / "ssh"
    shell.write_text(LOCAL_SHELL)
    shell.chmod(0o755)
    os.environ["RSYNC_RSH"] = str(shell)  # of this process and its children alone
    remote = "elsewhere:" if chance.random() < 0.5 else ""
    words = chance.choice(
        (["pull", f"{remote}{there}", "--in", "here"], ["push", f"{remote}{here}", "--in", "there"])
    )
    return Input(["repository", *words], judge=lambda _: taken(place, here))


def taken(place: Path, here: Path) -> Found:
    """Say that something other than good runs and their notes came into a repository, or beside it."""
    if (place / "mine").read_text() != "mine":
        return "outside", "a file beside the repositories was written"
    if others := {each.name for each in place.iterdir()} - OWN - {"here", "there", "mine"}:
        return "outside", f"new beside the repositories: {sorted(others)}"
    if others := {each.name for each in here.iterdir()} - REPOSITORY:
        return "outside", f"new in the repository: {sorted(others)}"
    listed = {one.id for one in Repository(here).chosen(RunChoice())}
    for file in (here / "runs").iterdir():
        what = file.lstat()
        if not RUN_FILE.fullmatch(file.name) or file.is_symlink() or not file.is_file() or what.st_mode & 0o6111:
            return "outside", f"taken: {file.name!r}, mode {what.st_mode:o}"
        if file.name[:16] in listed and _digest(here / "runs" / f"{file.name[:16]}.zip.xz") not in good_runs():
            return "accepted", f"a damaged run: {file.name}"
    return None


# Outputs of other programs.


def imported(chance: random.Random, place: Path) -> Input:
    """Return the import of a damaged output in which texts would be obeyed by a page."""
    made = outputs.output(chance, place)
    for file in place.glob("output*.txt"):
        content = file.read_bytes()
        words = list(re.finditer(rb"[A-Za-z][\w.-]{2,}", content))
        for _ in range(min(len(words), chance.randrange(4))):
            word = chance.choice(words)[0]
            content = content.replace(word, chance.choice(SCRIPTS).encode(), chance.choice((1, -1)))
        file.write_bytes(content)

    def judged(answer: Answer) -> Found:
        if others := {one.name for one in place.iterdir() if not one.name.startswith("output")} - OWN - {"made"}:
            return "outside", f"made: {sorted(others)}"
        pages = sorted((place / "made").glob("*.html")) if (place / "made").exists() else []
        scripts = [found for page in pages if (found := live_script(page.read_text()))]
        return scripts[0] if scripts else made.judge(answer) if made.judge else None

    return Input(made.words, judge=judged)


# Runs to anonymize.

LETTERS = (
    "bcdfghjklmnpqrstvwxz",
    "äöüßéñçø",
    "αβγδεζηθλμξπρσφψω",
    "бгджзийклпфцчшщыэюя",
    "北京上海服务器中心数据",
)
AROUND = (
    " ",
    "=",
    "/",
    "-",
    "_",
    ".",
    ":",
    ",",
    "@",
    "[",
    "]",
    "(",
    ")",
    "'",
    '"',
    "~",
    "\n",
    "//",
    "\\",
    "%",
    "",
)


def anonymous(chance: random.Random, place: Path) -> Input:
    """Return the anonymization of a run in whose texts random names stand."""
    run = small_run(place / "run")
    (run / "checksums.sha256").unlink(missing_ok=True)
    secrets = [_secret(chance) for _ in range(chance.randrange(1, 5))]
    for secret in secrets:
        name = chance.choice(("run.json", "machine.json", "samples.jsonl", "file"))
        if name == "file":
            (run / f"{secret}.txt").write_text(secret)
        elif name.endswith("l"):
            lines = (run / name).read_text().splitlines()
            number = chance.randrange(len(lines))
            record = json.loads(lines[number])
            record.pop("crc32", None)
            lines[number] = json.dumps(_with(record, secret, chance), ensure_ascii=False)
            (run / name).write_text("".join(f"{line}\n" for line in lines))
        else:
            (run / name).write_text(json.dumps(_with(json.loads((run / name).read_text()), secret, chance)))
    return Input(["anonymize", "run", "copy", "--yes"], judge=lambda answer: left(answer, place / "copy", secrets))


def _secret(chance: random.Random) -> str:
    way = chance.random()
    if way < 0.15:
        return str(chance.randrange(10**6, 10**10) * 2 + 1)
    if way < 0.25:
        return ".".join(str(chance.randrange(11, 250)) for _ in range(4))
    if way < 0.35:
        return ":".join(f"{chance.randrange(256):02x}" for _ in range(6))
    letters = chance.choice(LETTERS)
    word = "".join(chance.choice(letters) for _ in range(chance.randrange(6, 12)))
    return chance.choice((word, word.upper(), word.capitalize()))


def _with(document: Any, secret: str, chance: random.Random) -> Any:
    """Put a name into one text of a document, or into one that stands for a name of its environment."""
    texts = list(_texts(document))
    if texts:
        holder, key = chance.choice(texts)
        around = chance.choice(AROUND), chance.choice(AROUND)
        place = chance.choice((f"{holder[key]}{around[0]}{secret}", f"{secret}{around[1]}{holder[key]}", secret))
        holder[key] = place
    return document


def _texts(value: Any, key: str = "") -> Iterator[tuple[Any, Any]]:
    """Yield holder and key of every text but those of fields that are kept as they are."""
    if key in KEPT_FIELDS or key == "flags":
        return
    for inner, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(each, str) and inner not in KEPT_FIELDS:
            yield value, inner
        elif isinstance(each, dict | list):
            yield from _texts(each, inner if isinstance(inner, str) else key)


def left(answer: Answer, copy: Path, secrets: list[str]) -> Found:
    """Say which name the copy still has, in a file or in the name of one."""
    if answer.code != 0:
        return ("leftover", "a copy that was refused") if copy.exists() else None
    for file in (each for each in copy.rglob("*") if each.is_file()):
        text = f"{file.relative_to(copy)}\n{file.read_text(errors='replace')}".lower()
        for secret in map(str.lower, secrets):
            if secret in text or json.dumps(secret)[1:-1] in text:
                return "secret left", f"{secret!r} in {file.name}"
    return None
