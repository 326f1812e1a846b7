"""The variables around one launch, among them where its launcher keeps its files.

Open MPI 5 names that folder by the launcher's process number alone: a launch that was killed leaves one behind,
and the next launcher with this number (they come round, and labs count their own) refuses to start for it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

SESSION = "PRTE_MCA_prte_local_tmpdir_base"
"""Where the launcher of Open MPI 5 makes its folder on its own host. Version 4 fails over a parameter like it."""


@contextmanager
def surroundings(environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Give this process's variables with those of a launch; what its launcher leaves goes when the context ends.

    A user who says where Open MPI's files are to be is obeyed.
    """
    given = {**os.environ, **environment}
    if any(name.startswith("PRTE_MCA_prte_") and name.endswith("tmpdir_base") for name in given):
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="scope-launch-", ignore_cleanup_errors=True) as folder:
        yield {SESSION: folder, **given}
