"""The C++ compiler of this host, for what needs no MPI."""

import os
import shlex
import shutil

from hpcscope.errors import UsageError


def system_compiler(why: str) -> list[str]:
    """Return the words of $CXX, else the first C++ compiler on PATH; UsageError with `why` if there is none."""
    if asked := shlex.split(os.environ.get("CXX", "")):
        return asked
    found = next(filter(shutil.which, ("c++", "g++", "clang++")), None)
    if found is None:
        raise UsageError(f"c++: not found; {why}")
    return [found]
