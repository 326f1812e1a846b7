"""The environment of one launch: its variables, temporary files, and the memory that its ranks share.

Open MPI 5 names its session directory after the launcher's process number alone. A launch that was killed leaves
one behind, and the next launcher with that number (numbers are reused, and labs count their own) fails to start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from scope.launch import leftovers
from scope.launch.launcher import FOLDER, MARK
from scope.private import temporary_folder

SESSION = "PRTE_MCA_prte_local_tmpdir_base"
"""The session directory of Open MPI 5 on the launcher's host. Version 4 rejects a parameter of its form."""
ALL_HOSTS = "PRTE_MCA_prte_tmpdir_base"
"""Those of all hosts. An empty value stands above that of a site's file, beside which SESSION would be refused."""


@contextmanager
def launch_environment(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield this process's variables with those of a launch; what its processes leave is removed at the end.

    What killed launches left is removed first. A session directory chosen by the user is kept.
    """
    given = {**os.environ, **environment}
    chosen = any(name.startswith("PRTE_MCA_prte_") and name.endswith("tmpdir_base") for name in given)
    with temporary_folder("launch", leftovers.removed) as folder, leftovers.listed(folder):
        if MARK in given:
            leftovers.list_storage(folder, given[FOLDER], given[MARK])
        yield given if chosen else {SESSION: str(folder), ALL_HOSTS: "", **given}
