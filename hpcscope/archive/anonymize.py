"""A copy of a run without names of hosts, users, folders and addresses, and what it still tells.

Each name becomes the same stand-in everywhere, so that what belongs together stays together: the third host is
`host3` in the machine's description, in every launch and in every finding. Figures are not touched.
"""

from __future__ import annotations

import ipaddress
import json
import pwd
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hpcscope.archive.packing import files_of
from hpcscope.checksum import with_checksum
from hpcscope.errors import ScopeError, UsageError
from hpcscope.findings.results import Run
from hpcscope.rundirectory import CHECKSUMS, note_checksums, read_bytes

UNTOUCHED = {"benchmarks.json", "plan.txt"}
"""What Scope says of its own benchmarks."""
LEFT_OUT = {"report.html", "journal.jsonl", "samples.cut.jsonl", CHECKSUMS}
"""Made from the rest, or no longer true of the copy."""
SYSTEM = ("/bin", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr")
"""Folders whose paths are those of the software, not of people."""
PATH = re.compile(r"(?<![\w./~-])/(?:[\w.+@~=-]+/)*[\w.+@~=-]+")
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
MAC = re.compile(r"\b[0-9a-f]{2}(?::[0-9a-f]{2}){5}\b", re.IGNORECASE)
MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")
ADDRESS = re.compile(
    r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})(?![\w:])", re.IGNORECASE
)


@dataclass
class StandIns:
    """Which stand-in each name has; new names get the next of their kind."""

    chosen: dict[str, str]
    """Names that were known before, longest first when they are looked for."""
    given: dict[str, str] = field(default_factory=dict)
    """Names that were met in texts."""
    counts: dict[str, int] = field(default_factory=dict)

    def next(self, name: str, kind: str, form: str = "{kind}{number}") -> str:
        """Return the stand-in of a name that was met in a text."""
        if name not in self.given:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.given[name] = form.format(kind=kind, number=self.counts[kind])
        return self.given[name]

    def applied(self, text: str) -> str:
        """Return a text with stand-ins for all names, addresses and paths."""
        text = MAIL.sub(lambda found: self.next(found[0], "mail", "mail{number}@example.org"), text)
        text = UUID.sub(lambda found: self.next(found[0], "id", "00000000-0000-0000-0000-{number:012}"), text)
        text = MAC.sub(lambda found: self.next(found[0], "card", "02:00:00:00:00:{number:02x}"), text)
        text = ADDRESS.sub(self._address, text)
        text = PATH.sub(self._path, text)
        if self.chosen:
            text = self._names().sub(lambda found: self.chosen[found[0]], text)
        return text

    def _names(self) -> re.Pattern[str]:
        longest_first = sorted(self.chosen, key=len, reverse=True)
        return re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")

    def _address(self, found: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(found[0])
        except ValueError:
            return found[0]
        if address.is_loopback or address.is_unspecified:
            return found[0]
        form = "192.0.2.{number}" if address.version == 4 else "2001:db8::{number:x}"
        return self.next(found[0], f"address{address.version}", form)

    def _path(self, found: re.Match[str]) -> str:
        path = found[0]
        if any(path == each or path.startswith(f"{each}/") for each in SYSTEM) or path.count("/") < 2:
            return path
        return self.next(path, "path", "/{kind}{number}")


@dataclass(frozen=True)
class Anonymized:
    """What was done."""

    folder: Path
    stand_ins: dict[str, str]
    """Each name and its stand-in, in the order in which they were met."""
    left: dict[str, list[str]]
    """What still tells something of the cluster, by its kind."""


def anonymize(run: Path, target: Path, further: Iterable[str] = ()) -> Anonymized:
    """Write a copy of the folder of a run with stand-ins for what names hosts and people.

    `further`: words that name something too. Raises UsageError where `target` exists or `run` is no run, and
    ScopeError, with nothing written, where the copy could not be read afterwards.
    """
    original = Run(run)
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target}: exists; must be a new folder")
    stand_ins = StandIns(_known(original, further))
    try:
        _copy(run.resolve(), target, stand_ins)
        copied = Run(target)
        if len(copied.raw_samples.cases) != len(original.raw_samples.cases):
            raise ScopeError(f"{run}: a name in it is also a word of Scope; the copy could not be read")
        left = _left(copied)
    except BaseException:
        shutil.rmtree(target, ignore_errors=True)
        raise
    return Anonymized(target, {**stand_ins.chosen, **stand_ins.given}, left)


def _known(run: Run, further: Iterable[str]) -> dict[str, str]:
    """Return stand-ins for the hosts, for the owner of the run, and for further words."""
    known: dict[str, str] = {}
    for number, host in enumerate(run.machine.hosts, 1):
        known.setdefault(host.name, f"host{number}")
        known.setdefault(host.name.partition(".")[0], f"host{number}")
    try:
        owner = pwd.getpwuid(run.path.stat().st_uid).pw_name
    except KeyError:
        owner = ""
    if owner not in ("", "root"):
        known.setdefault(owner, "user")
    for number, word in enumerate(further, 1):
        known.setdefault(word, f"word{number}")
    known.pop("localhost", None)
    return known


def _copy(source: Path, target: Path, stand_ins: StandIns) -> None:
    sealed = []
    for file in sorted(files_of(source), key=lambda file: (len(file.parts), file)):
        if file.name in LEFT_OUT:
            continue
        written = target / file.relative_to(source)
        written.parent.mkdir(parents=True, exist_ok=True)
        if file.name in UNTOUCHED:
            shutil.copyfile(file, written)
        else:
            text = read_bytes(file).decode("utf-8", errors="replace")
            written.write_text(_form(file)(text, stand_ins), encoding="utf-8")
        if written.parent == target and file.suffix in (".json", ".toml"):
            sealed.append(written)
    note_checksums(target, sealed)


def _form(file: Path) -> Callable[[str, StandIns], str]:
    return {".json": _json, ".jsonl": _lines}.get(file.suffix, lambda text, stand_ins: stand_ins.applied(text))


def _json(text: str, stand_ins: StandIns) -> str:
    return json.dumps(_values(json.loads(text), stand_ins), ensure_ascii=False, indent=1) + "\n"


def _lines(text: str, stand_ins: StandIns) -> str:
    """Return JSON lines anew, each with its checksum; a damaged line stays damaged."""
    made = []
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            made.append(stand_ins.applied(line))
            continue
        sealed = isinstance(record, dict) and record.pop("crc32", None) is not None
        plain = json.dumps(_values(record, stand_ins), ensure_ascii=False, separators=(",", ":"))
        made.append(with_checksum(plain.encode()).decode() if sealed else plain)
    return "".join(f"{line}\n" for line in made)


def _values(value: Any, stand_ins: StandIns) -> Any:
    """Return a value of JSON with stand-ins in all its texts; keys stay."""
    if isinstance(value, str):
        return stand_ins.applied(value)
    if isinstance(value, list):
        return [_values(each, stand_ins) for each in value]
    if isinstance(value, dict):
        return {key: _values(each, stand_ins) for key, each in value.items()}
    return value


def _left(run: Run) -> dict[str, list[str]]:
    """Return what the copy still says of the cluster and of whoever measured it."""
    machine = run.machine
    texts = {
        "command": [" ".join(run.record.command)],
        "name of the run": [run.record.name],
        "processors": [host.processor.model for host in machine.hosts],
        "memory": [f"{host.memory_bytes / 2**30:.0f} GiB" for host in machine.hosts],
        "kernels": [f"{host.operating_system}, {host.kernel}" for host in machine.hosts],
        "links": [f"{link.name} ({link.driver})" for host in machine.hosts for link in host.links if link.driver],
        "environment": [f"{name}={value}" for name, value in machine.environment.items()],
        "time": [str(run.record.started_unix_s)],
    }
    return {kind: found for kind, values in texts.items() if (found := list(dict.fromkeys(filter(None, values))))}
