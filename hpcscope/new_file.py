"""A file that appears whole: written beside its place, then moved there; nothing is left of what fails."""

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
    """Yield an empty private file beside `target`, which takes its place unless an error ends the context.

    Everyone whom the umask lets in may read the file then. A request to stop waits while the file is made, so
    that somebody always knows its name. Raises OSError where the folder cannot be written.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, REQUESTS_TO_STOP)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent.absolute())
        # The end of the context begins in contextlib: a request to stop may come there.
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
    """Put a new file, from which mkstemp keeps others out, in its place, for everyone whom the umask lets in."""
    mask = os.umask(0)
    os.umask(mask)
    temporary.chmod(0o666 & ~mask)
    temporary.replace(path)
