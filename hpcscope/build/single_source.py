"""Small programs of one source file that come with Scope: compiled when first asked for, and kept in the cache."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hpcscope.build.cmake import cache_directory, digest, private_cache
from hpcscope.commands import captured
from hpcscope.errors import ScopeError

FLAGS = ("-std=c++20", "-O2")
PATIENCE_S = 120.0


def compiled(
    source: Path,
    compiler: Sequence[str],
    facts: Sequence[str] = (),
    flags: Sequence[str] = FLAGS,
    compile_it: bool = True,
) -> Path:
    """Return the program of a source file; `facts`: what else distinguishes it, such as an MPI's version.

    Raises ScopeError with the first error if it does not compile or cannot be kept, or if it is not kept yet and
    must not be compiled.
    """
    path = cache_directory() / source.stem / digest(source.read_text(), *compiler, *flags, *facts)
    try:
        private_cache(path.parent)
    except OSError as error:
        raise ScopeError(f"{path}: cannot be written: {error.strerror}") from error
    if path.is_file():
        return path
    if not compile_it:
        raise ScopeError(f"{path}: is not compiled yet; run `scope health` once on this host")
    # Under a temporary name first: others may be compiling, or running, the same program.
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        words = [*compiler, *flags, "-o", str(fresh), str(source)]
        answer = captured(words, PATIENCE_S)
        if answer.returncode != 0:
            raise ScopeError(f"{source.name}: does not compile: {_first_error(answer.stderr)}")
        fresh.replace(path)
    except subprocess.TimeoutExpired as error:
        raise ScopeError(f"{source.name}: not compiled in {PATIENCE_S:g} s") from error
    except OSError as error:
        raise ScopeError(f"{path}: cannot be written: {error.strerror}") from error
    return path


def _first_error(said: str) -> str:
    lines = said.splitlines()
    return next((line for line in lines if "error" in line), lines[0] if lines else "no message")
