"""Earlier health checks in a repository, as the past of a later check."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from hpcscope.archive import packing
from hpcscope.archive.folder import MARK
from hpcscope.archive.index import RunChoice
from hpcscope.archive.repository import Repository, default
from hpcscope.errors import ScopeError
from hpcscope.health.records import FILE, NAME, HealthFile, Kept, nothing_kept
from hpcscope.rundirectory import read_json


def kept(place: Path | None = None) -> Kept:
    """Return a function that finds earlier checks in the repository at `place` (default: the user's repository).

    It finds nothing if there is no repository, or if the user's default repository cannot be read.
    """
    path = place or default()
    if not (path / MARK).is_file():
        return nothing_kept

    def before(record: HealthFile) -> Iterable[HealthFile]:
        hosts = set(record.hosts)
        try:
            repository = Repository(path)
            entries = repository.chosen(RunChoice(name=NAME, until_unix_s=record.started_unix_s))
        except ScopeError:
            if place is not None:
                raise
            return
        for entry in entries:
            if hosts.intersection(entry.hosts):
                with suppress(ScopeError), packing.opened(repository.file(entry.id)) as folder:
                    yield read_json(folder / FILE, HealthFile)

    return before
