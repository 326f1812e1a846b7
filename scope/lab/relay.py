"""The relay, compiled once and kept."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from scope.build.cmake import cache_directory
from scope.errors import ScopeError, UsageError

SOURCE = Path(__file__).with_name("relay.cpp")
PATIENCE_S = 120.0


def program() -> str:
    """Return the relay's path, compiled now if it is not in the cache; raises UsageError without a compiler."""
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
    if compiler is None:
        raise UsageError("c++: not found; latency, buses and lossy links are carried by a program to compile")
    digest = hashlib.sha256(SOURCE.read_bytes() + compiler.encode()).hexdigest()[:16]
    path = cache_directory() / "relay" / digest
    if path.is_file():
        return str(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{digest}.{os.getpid()}")
    words = [*compiler.split(), "-std=c++20", "-O2", "-o", str(fresh), str(SOURCE)]
    answer = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
    if answer.returncode != 0:
        raise ScopeError(f"{SOURCE}: does not compile: {answer.stderr.partition(chr(10))[0]}")
    fresh.replace(path)
    return str(path)
