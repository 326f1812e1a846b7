"""Index entry of a run: what was measured, where and when, its results, and the users' notes."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field, ValidationError

from hpcscope.errors import UsageError
from hpcscope.strict import Printable, Strict, Text, Unix, printable

if TYPE_CHECKING:
    from hpcscope.machine.machine import Host, Machine
    from hpcscope.rundirectory import RunDirectory, RunFile
    from hpcscope.statistics.summary import Summary

FORMAT = 1
ID = r"[0-9a-f]{16}"
CLOCKS_DIFFER_S = 86400.0
"""Maximum difference between hosts with correct clocks."""
TAG = r"[A-Za-z0-9][A-Za-z0-9._-]{0,49}"


def _tag(text: str) -> str:
    if re.fullmatch(TAG, text) is None:
        raise ValueError("must begin with a letter or digit and have up to 50 letters, digits, dots, dashes")
    return text


Tag = Annotated[str, AfterValidator(_tag)]


class Notes(Strict):
    """`runs/ID.json`: the checksum of an archived run, and information that is not in the run itself."""

    format: int = FORMAT
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """SHA-256 of the run's file."""
    added_unix_s: Unix
    added_by: Printable
    """The user who added it."""
    cluster: Text
    """Name of the cluster, which later runs of the same machines inherit."""
    tags: list[Tag] = []
    note: Printable = ""
    noted_unix_s: Unix | None = None
    """When cluster, tags or note last changed; None if they have not changed since the run was added."""

    @property
    def said_unix_s(self) -> float:
        """Time of the last change; 0 for a time in the future, which would win forever."""
        said = self.noted_unix_s or self.added_unix_s
        return said if said < time.time() + CLOCKS_DIFFER_S else 0.0

    def newest(self, other: Notes) -> Notes:
        """Return these notes with cluster, tags and note from whichever repository changed them last."""
        if other.said_unix_s <= self.said_unix_s:
            return self
        said = ("cluster", "tags", "note", "noted_unix_s")
        return self.model_copy(update={name: getattr(other, name) for name in said})


class _Remarks(Strict):
    tag: list[Tag]
    note: Printable
    cluster: Text | None


def refuse_remarks(tags: Sequence[str], note: str | None, cluster: str | None) -> None:
    """Raise UsageError for an invalid tag, note or cluster name."""
    try:
        _Remarks(tag=list(tags), note=note or "", cluster=cluster)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(
            f"{first['loc'][0]} = {first['input']}: {first['msg'].removeprefix('Value error, ')}"
        ) from error


class Entry(Strict):
    """A run in the index."""

    id: str = Field(pattern=f"^{ID}$")
    name: str
    module: str
    command: str
    status: str
    started_unix_s: float
    finished_unix_s: float | None
    scope_version: str
    fingerprint: str
    """Fingerprint of the machines, which software updates do not change."""
    hosts: list[str]
    processor: str
    kernel: str
    mpi: str
    size_bytes: int
    """Size of the run's file."""
    notes: Notes


class KeptFigure(Strict):
    """One result of one case."""

    benchmark: str
    metric: str
    label: str
    """Label of the case."""
    key: str
    """Key of comparable results: benchmark, parameters, ranks, transport, placement, metric, origin."""
    ranks: int
    unit: str
    better: str
    origin: str
    median: float
    low: float | None
    high: float | None
    launches: int


def identity(directory: RunDirectory) -> str:
    """Return the id of a run, derived from its request and its samples, so that it is the same everywhere."""
    from hpcscope.health.records import FILE
    from hpcscope.rundirectory import read_bytes

    digest = hashlib.sha256()
    check = directory.path / FILE
    for file in (check,) if check.is_file() else (directory.run, directory.samples):
        digest.update(hashlib.sha256(read_bytes(file)).digest())
    return digest.hexdigest()[:16]


def entry(name: str, run: RunFile, machine: Machine, size_bytes: int, notes: Notes) -> Entry:
    """Return the index entry of a run."""
    mpi = machine.build.mpi if machine.build else None
    return Entry(
        id=name,
        name=run.name,
        module=run.module,
        command=" ".join(run.command),
        status=run.status,
        started_unix_s=run.started_unix_s,
        finished_unix_s=run.finished_unix_s,
        scope_version=run.scope_version,
        fingerprint=fingerprint(machine),
        hosts=[host.name for host in machine.hosts],
        processor=machine.hosts[0].processor.model if machine.hosts else "",
        kernel=machine.hosts[0].kernel if machine.hosts else "",
        mpi=f"{mpi.name} {mpi.version}" if mpi else "",
        size_bytes=size_bytes,
        notes=notes,
    )


def figures(summaries: Iterable[Summary]) -> list[KeptFigure]:
    """Return the results of a run: one for each metric of each case, under the headline definition."""
    return [
        KeptFigure(
            benchmark=summary.benchmark,
            metric=summary.metric,
            label=summary.label,
            key=_key(summary),
            ranks=summary.ranks,
            unit=summary.unit,
            better=summary.better,
            origin=summary.origin,
            median=summary.median,
            low=summary.ci_low,
            high=summary.ci_high,
            launches=summary.launches,
        )
        for summary in summaries
        if summary.is_headline and summary.median is not None
    ]


def _key(case: Summary) -> str:
    parts = [
        case.benchmark,
        case.parameters,
        case.ranks,
        case.transport,
        str(case.placement),
        case.metric,
        case.origin,
    ]
    return json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def fingerprint(machine: Machine) -> str:
    """Return a fingerprint of machines that does not depend on their software or on which of the hosts a run uses.

    It covers the set of host kinds (stem of the name, processor, memory in GiB and kinds of links) and the
    emulated cluster, if any.
    """
    kinds = sorted({json.dumps(_kind(host), ensure_ascii=False) for host in machine.hosts})
    lab = machine.lab.name if machine.lab else ""
    return hashlib.sha256("\n".join([lab, *kinds]).encode(errors="backslashreplace")).hexdigest()[:16]


def cluster_name(machine: Machine) -> str:
    """Return a default name for a cluster: the stem of a host name, as `node`, or the lab, as `lab storage`."""
    stem = _stem(machine.hosts[0].name) if machine.hosts else "unknown"
    name = f"lab {machine.lab.name}" if machine.lab else stem
    try:
        return printable(name) or "unknown"
    except ValueError:
        return "unknown"


def _kind(host: Host) -> list[object]:
    processor = host.processor
    return [
        _stem(host.name),
        processor.model,
        processor.sockets,
        processor.cores,
        processor.threads,
        round(host.memory_bytes / 2**30),
        sorted({link.kind for link in host.links}),
    ]


def _stem(host: str) -> str:
    """Return the name of a host without domain and number: `node` of `node017.cluster.example`."""
    return re.sub(r"\d+$", "", host.partition(".")[0]).rstrip("-_") or host
