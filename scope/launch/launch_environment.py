"""The environment of one launch: its variables, temporary files, and the memory that its ranks share.

Open MPI 5 names its session directory after the launcher's process number alone. A launch that was killed leaves
one behind, and the next launcher with that number (numbers are reused, and labs count their own) fails to start.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from scope.launch import leftovers
from scope.launch.launcher import FOLDER, MARK
from scope.private import temporary_folder

SESSION = "PRTE_MCA_prte_local_tmpdir_base"
"""The session directory of Open MPI 5 on the launcher's host. Version 4 rejects a parameter of its form."""
FILE = ".prte/mca-params.conf"
"""The user's parameters of Open MPI 5, in the home directory. Beside a session directory named there, SESSION
would be refused; an empty variable that stands above it crashes the launcher's daemons on other hosts."""


@contextmanager
def launch_environment(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield this process's variables with those of a launch; what its processes leave is removed at the end.

    What killed launches left is removed first. A session directory chosen by the user is kept.
    """
    given = {**os.environ, **environment}
    chosen = any(name.startswith("PRTE_MCA_prte_") and name.endswith("tmpdir_base") for name in given)
    chosen = chosen or _chosen_in(Path(given.get("HOME", "/")) / FILE)
    with temporary_folder("launch", leftovers.removed) as folder, leftovers.listed(folder):
        if MARK in given:
            leftovers.list_storage(folder, given[FOLDER], given[MARK])
        yield given if chosen else {SESSION: str(folder), **given}


def _chosen_in(file: Path) -> bool:
    """Say whether a file of parameters names a session directory."""
    try:
        return (
            re.search(r"^\s*prte_\w*tmpdir_base\s*=", file.read_text(errors="replace"), re.MULTILINE) is not None
        )
    except OSError:
        return False
