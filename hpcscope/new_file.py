"""A file that appears complete: written next to its target, then moved there; failures leave nothing behind."""

import atexit
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from hpcscope.own_exit import at_own_exit

REQUESTS_TO_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield an empty private file next to `target`, which replaces it unless an error ends the context.

    It then gets the permissions that the umask allows. A request to stop waits while the file is made, so that its
    name is always known. Raises OSError if the folder cannot be written.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS_TO_STOP)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent.absolute())
        # The context's end begins inside contextlib, where a request to stop may arrive.
        last = at_own_exit(partial(Path(name).unlink, missing_ok=True))
        try:
            os.close(handle)
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            yield Path(name)
            _put(Path(name), target)
        finally:
            Path(name).unlink(missing_ok=True)
            atexit.unregister(last)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _put(temporary: Path, path: Path) -> None:
    """Move a new file into place with the permissions that the umask allows; mkstemp made it private."""
    mask = os.umask(0)
    os.umask(mask)
    temporary.chmod(0o666 & ~mask)
    temporary.replace(path)
