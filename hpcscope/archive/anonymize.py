"""Anonymized copy of a run: harmless words are kept, and every other word is replaced by a stand-in.

Numbers, hardware and software facts in known fields, and words of Scope itself are harmless. Everything derived
from a run is derived again from the copy; output of launches and batch systems is left out. Equal words get equal
stand-ins: the third host is `host3` everywhere.
"""

import ipaddress
import json
import pwd
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import hpcscope
from hpcscope.archive.runs import is_check
from hpcscope.checksum import with_checksum
from hpcscope.engine import analysis
from hpcscope.errors import ScopeError, UsageError, naming
from hpcscope.findings.results import Run
from hpcscope.health.facts import MATTERS
from hpcscope.health.records import FILE as HEALTH
from hpcscope.health.records import HealthFile, fleet
from hpcscope.rundirectory import note_checksums, read_bytes, read_json, read_text, write_json, write_text

COPIED = ("run.json", "machine.json", "benchmarks.json", "plan.txt", "simulation.json", "samples.jsonl", HEALTH)
UNTOUCHED = ("benchmarks.json", "plan.txt")
"""Files with Scope's own texts on its benchmarks."""
OF_A_VISIT = ("facts", "before", "after")
"""Fields with the facts that a visit of `scope health` read, by name; names of interfaces may be site-specific."""
HARMLESS = re.compile(
    rf"architecture|processor|microcode|BIOS|product|hardware threads|{MATTERS.pattern}|mitigation \w+"
)
"""Facts whose texts come from the kernel or from hardware vendors."""
INTERFACE = re.compile(
    r"(?<=^interface )(?!eth|eno|ens|enp|ib)\S+|(?<=^InfiniBand )(?!mlx|hfi|qib|irdma|bnxt)\S+(?=/)"
)
"""Name of an interface not named by the kernel: such a name may contain an address or a site-specific word."""
KEPT_FIELDS = {
    *("record", "status", "benchmark", "parameters", "metric", "unit", "cadence", "synchronization", "stopped"),
    *("transport", "placement", "origin", "module", "mpi_standard", "scope_version", "python", "version"),
    *("method", "model", "architecture", "kind", "driver", "virtualization", "governor"),
    *("transparent_huge_pages", "microcode", "vulnerabilities", "idle_governor", "idle_states", "file_system"),
    *("stage", "state"),
}
"""Fields whose texts come from Scope, the kernel or hardware vendors."""
ENVIRONMENT = re.compile(r"(OMPI_|PMIX_|PRTE_|MPIR_|MPICH_|I_MPI_|UCX_|FI_|OMP_|OPENBLAS_|SCOPE_|LD_)\w*")
"""Environment variables of MPI libraries and of Scope; all others are left out."""
SYSTEM = {
    *("bin", "boot", "dev", "etc", "gnu", "home", "include", "lib", "lib64", "libexec", "linux", "local", "mnt"),
    *("opt", "packages", "proc", "python3", "root", "run", "sbin", "scratch", "share", "site", "so", "src"),
    *("sys", "tmp", "usr", "user", "users", "var", "work", "x86_64", "aarch64", "mpicc", "mpicxx", "mpiexec"),
    *("mpirun", "srun"),
}
"""Path components that are the same everywhere."""
WORD = re.compile(r"\w+")  # in any script
CHUNK = re.compile(r"[^\s\"'=,;()<>{}|]+")
RANGES = re.compile(r"[\w.-]*\[[\d,-]+\][\w.-]*")
GROUPS = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,}(?::?\d{1,3}(?:\.\d{1,3}){3})?"  # IPv6, Ethernet and InfiniBand
    r"|\d+(?:\.\d+){3,}"  # IPv4, also followed by more numbers
    r"|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}"
    r"|[0-9a-f]{1,12}(?:-[0-9a-f]{1,12}){3,}"  # UUIDs, and addresses with dashes
    r")(?![A-Za-z0-9])",
    re.IGNORECASE,
)
LOCAL = ("localhost", "127.0.0.1", "::1", "0.0.0.0", "::")


@dataclass
class StandIns:
    """Stand-ins of words; a new word gets the next stand-in of its kind."""

    chosen: Mapping[str, str]
    """Stand-ins of names known beforehand, in lowercase."""
    given: dict[str, str] = field(default_factory=dict)
    """Stand-ins of words found in texts."""

    def applied(self, text: str) -> str:
        """Return a text with stand-ins for all words that are not harmless."""
        text = self._names().sub(lambda found: self.chosen[found[0].lower()], text) if self.chosen else text
        text = RANGES.sub(lambda found: self._next(found[0], "hosts"), text)
        text = GROUPS.sub(self._address, text)
        return CHUNK.sub(lambda found: self._chunk(found[0]), text)

    def _names(self) -> re.Pattern[str]:
        longest_first = sorted(self.chosen, key=len, reverse=True)
        return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, longest_first))})(?![A-Za-z0-9])", re.I)

    def _address(self, found: re.Match[str]) -> str:
        text = found[0]
        if text in LOCAL or re.fullmatch(r"\d{1,2}:\d\d:\d\d", text) or not re.search(r"[0-9a-f]", text, re.I):
            return text
        try:
            version = ipaddress.ip_address(text).version
        except ValueError:
            return self._next(text, "id")
        return self._next(text, f"address{version}x")

    def _chunk(self, chunk: str) -> str:
        """Return a chunk between spaces with stand-ins; in a path, only names in `SYSTEM` are harmless."""
        harmless = SYSTEM if "/" in chunk or chunk.startswith("~") else words()
        return WORD.sub(lambda found: self._word(found[0], harmless), chunk)

    def _word(self, word: str, harmless: Iterable[str]) -> str:
        if word.lower() in harmless or len(word) == 1 or _is_stand_in(word):
            return word
        if re.fullmatch(r"v?\d{1,4}", word) or (word.isdecimal() and 0 in (int(word) % 1000, int(word) % 1024)):
            return word
        return self._next(word, "word")

    def _next(self, word: str, kind: str) -> str:
        """Return the stand-in of a word found in a text."""
        word = word.lower()
        if word not in self.given:
            self.given[word] = f"{kind}{sum(stand_in.startswith(kind) for stand_in in self.given.values()) + 1}"
        return self.given[word]


def _is_stand_in(word: str) -> bool:
    return re.fullmatch(r"(?:host|hosts|user|word|id|address[46]x)\d*", word) is not None


@cache
def words() -> frozenset[str]:
    """Return the words of Scope: all words in its sources and declarations."""
    package = Path(hpcscope.__file__).parent
    texts = (file.read_text(encoding="utf-8") for file in package.rglob("*") if file.suffix in (".py", ".json"))
    return frozenset(word.lower() for text in texts for word in re.findall(r"[^\W\d]\w*", text))


@dataclass(frozen=True)
class Anonymized:
    """An anonymized copy that has not been published yet."""

    folder: Path
    stand_ins: dict[str, str]
    """Each word and its stand-in, known names first, then in the order of occurrence."""
    left: dict[str, list[str]]
    """Remaining information on the cluster, by kind."""
    left_out: list[str]
    """Files of the run that are not in the copy."""

    def keep(self, target: Path) -> None:
        """Move the copy to its place."""
        with naming(target):
            self.folder.rename(target)


@contextmanager
def anonymized(run: Path, target: Path, further: Iterable[str] = ()) -> Iterator[Anonymized]:
    """Yield a copy of a run's directory next to `target`; the copy is removed afterwards unless it was kept.

    `further`: words to replace although they are words of Scope, too. Raises UsageError if `target` exists, if
    `run` is neither a run nor a health check, and for a mix of programs; ScopeError if the copy could not be
    read.
    """
    original = read_json(run / HEALTH, HealthFile) if is_check(run) else Run(run)
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target}: exists; must be a new directory")
    if isinstance(original, Run) and original.record.mix:
        raise UsageError(f"{run}: contains a mix of user programs; must be a run of benchmarks")
    hosts = [host.name for host in original.machine.hosts] if isinstance(original, Run) else original.hosts
    stand_ins = StandIns(_known(run, hosts, further))
    with naming(target):
        beside = Path(tempfile.mkdtemp(prefix=".anonymizing-", dir=target.absolute().parent))
    try:
        made = beside / "copy"
        made.mkdir()
        _copy(run, made, stand_ins)
        if isinstance(original, Run):
            copied = analysis.analyze(made)
            if len(copied.raw_samples.cases) != len(original.raw_samples.cases):
                raise ScopeError(f"{run}: a name in the run is also a Scope keyword; Scope cannot read the copy")
            left = _left(copied)
        else:
            left = _left_of_check(read_json(made / HEALTH, HealthFile))
        left_out = sorted(file.name for file in run.iterdir() if not (made / file.name).exists())
        yield Anonymized(made, {**stand_ins.chosen, **stand_ins.given}, left, left_out)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _known(run: Path, hosts: Iterable[str], further: Iterable[str]) -> dict[str, str]:
    """Return stand-ins for the hosts, their domains, the owner of the run, and further words."""
    known: dict[str, str] = {}
    for number, host in enumerate(hosts, 1):
        first, _, domain = host.partition(".")
        known.setdefault(host.lower(), f"host{number}")
        known.setdefault(first.lower(), f"host{number}")
        if domain:
            known.setdefault(domain.lower(), "domain")
    try:
        owner = pwd.getpwuid(run.stat().st_uid).pw_name
    except KeyError:
        owner = ""
    if owner not in ("", "root"):
        known.setdefault(owner.lower(), "user")
    for number, word in enumerate(further, 1):
        known.setdefault(word.lower(), f"further{number}")
    for name in LOCAL:
        known.pop(name, None)
    return known


def _copy(run: Path, target: Path, stand_ins: StandIns) -> None:
    for name in COPIED:
        file = run / name
        if not file.exists():
            continue
        if name in UNTOUCHED:
            write_text(target / name, read_text(file))
        elif name.endswith(".jsonl"):
            lines = read_bytes(file).decode("utf-8", errors="replace").splitlines()
            write_text(target / name, "".join(f"{made}\n" for line in lines if (made := _line(line, stand_ins))))
        else:
            write_json(target / name, _values(json.loads(read_text(file)), stand_ins))
    note_checksums(
        target,
        [target / name for name in COPIED if (target / name).suffix == ".json" and (target / name).exists()],
    )


def _line(line: str, stand_ins: StandIns) -> str:
    """Return the anonymized record with a new checksum; empty for a damaged record."""
    try:
        record = json.loads(line)
    except ValueError:
        return ""
    if not isinstance(record, dict):
        return ""
    record.pop("crc32", None)
    plain = json.dumps(_values(record, stand_ins), ensure_ascii=False, separators=(",", ":"))
    return with_checksum(plain.encode()).decode()


def _values(value: Any, stand_ins: StandIns, key: str = "") -> Any:
    """Return a JSON value with stand-ins in its texts, except in fields known to be harmless."""
    numa_node = key == "place" and re.fullmatch(r"(?:node\d+)?", str(value))
    if key in KEPT_FIELDS or (key == "flags" and isinstance(value, list)) or numa_node:
        return value
    if isinstance(value, str):
        return stand_ins.applied(value)
    if isinstance(value, list):
        return [_values(element, stand_ins) for element in value]
    if isinstance(value, dict) and key in OF_A_VISIT:
        return {
            INTERFACE.sub(lambda found: stand_ins.applied(found[0]), name): each
            if HARMLESS.fullmatch(name) or not isinstance(each, str)
            else stand_ins.applied(each)
            for name, each in value.items()
        }
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if key != "environment" or ENVIRONMENT.fullmatch(name)}
        return {name: _values(each, stand_ins, name) for name, each in kept.items()}
    return value


def _left(run: Run) -> dict[str, list[str]]:
    """Return what the copy still reveals about the cluster and the user who measured it."""
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


def _left_of_check(record: HealthFile) -> dict[str, list[str]]:
    """Return what the copy of a health check still reveals."""
    facts = {name: [value] for name, value in fleet(record).items() if not name.startswith("mitigation ")}
    return {"command": [" ".join(record.command)], **facts, "time": [str(record.started_unix_s)]}
