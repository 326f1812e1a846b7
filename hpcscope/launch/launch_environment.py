"""The environment of one launch: its variables, temporary files, and the memory that its ranks share.

Open MPI 5 names its session directory after the launcher's process number alone. A launch that was killed leaves
one behind, and the next launcher with that number (numbers are reused, and labs count their own) fails to start.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from hpcscope.launch import leftovers
from hpcscope.private import home, temporary_folder

SESSION = "PRTE_MCA_prte_local_tmpdir_base"
"""Sets the session directory of Open MPI 5 on the launcher's host. Version 4 rejects parameters of this form."""
PARAMETERS = "mca-params.conf"
"""Suffix of the files in which a user or a site sets such parameters."""


@contextmanager
def launch_environment(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield this process's variables with those of a launch; what its processes leave is removed at the end.

    Leftovers of killed launches are removed first. A session directory chosen by the user is kept.
    """
    given = {**os.environ, **environment}
    chosen = any(name.startswith("PRTE_MCA_prte_") and name.endswith("tmpdir_base") for name in given)
    chosen = chosen or _is_set_in_a_file(given.get("PATH", ""))
    with temporary_folder("launch", leftovers.removed) as folder, leftovers.listed(folder):
        if leftovers.MARK in given:
            leftovers.list_storage(folder, given[leftovers.FOLDER], given[leftovers.MARK])
        yield given if chosen else {SESSION: str(folder), **given}


def _is_set_in_a_file(path: str) -> bool:
    """Return whether the user or a site chose session directories; SESSION would conflict with that choice."""
    launchers = (shutil.which("prterun", path=path), shutil.which("mpiexec", path=path))
    prefixes = {Path(launcher).resolve().parents[1] for launcher in launchers if launcher}
    folders = (home() / ".prte", home() / ".openmpi", *(prefix / "etc" for prefix in sorted(prefixes)))
    for file in (file for folder in folders for file in folder.glob(f"*{PARAMETERS}")):
        with suppress(OSError):
            if re.search(r"^\s*prte_\w*tmpdir_base\s*=", file.read_text(errors="replace"), re.MULTILINE):
                return True
    return False
