"""Which BLAS the native program gets: a BLAS of the site if there is one, else the OpenBLAS that comes with Scope.

The program loads it when a benchmark needs it; nothing else depends on it. BLAS and LAPACK must be in the same
library.
"""

import json
import os
import re
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from hpcscope.build import libraries
from hpcscope.machine.machine import Blas
from hpcscope.own_python import own_python

NEEDED = ("sgemm", "dgemm", "dgetrf", "dpotrf", "dgeqrf", "dsyevd", "dgesdd", "dgesv")
"""The routines that the benchmarks call."""
EMBEDDED = ("scipy_openblas32", "libscipy_openblas.so", "scipy_")
"""Package of the wheel, its library, and the prefix of its names."""

CORETYPE = "OPENBLAS_CORETYPE"
"""The variable that overrides OpenBLAS's own choice of kernels."""
KERNELS = {
    "Haswell": {"avx2", "fma"},
    "Zen": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
    "Cooperlake": {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_bf16"},
    "SapphireRapids": {"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512_bf16", "amx_bf16"},
}
"""OpenBLAS's kernels for today's x86-64 processors, and the flags of /proc/cpuinfo that they need."""

_INTERROGATION = """
import ctypes, json, sys
path, prefix, *needed = sys.argv[1:]
library = ctypes.CDLL(path)
def said(name):
    function = getattr(library, name, None)
    if function is None:
        return ""
    function.restype = ctypes.c_char_p
    return (function() or b"").decode(errors="replace").strip()
missing = [name for name in needed if not hasattr(library, prefix + name + "_")]
buffer = ctypes.create_string_buffer(200)
if hasattr(library, "mkl_get_version_string"):
    library.mkl_get_version_string(buffer, len(buffer))
print(json.dumps({
    "missing": missing,
    "openblas": said(prefix + "openblas_get_config"),
    "core": said(prefix + "openblas_get_corename"),
    "blis": said("bli_info_get_version_str"),
    "mkl": buffer.value.decode(errors="replace").strip(),
}))
"""


@cache
def find(compiler: str) -> Blas | None:
    """Return the first BLAS that loads and has every routine; None if there is none.

    `compiler` is the wrapper whose library folders are searched. The library itself reports what it is here.
    """
    identified = (_identify(*candidate) for candidate in _candidates(compiler))
    return next((blas for blas in identified if blas is not None), None)


def with_kernels(blas: Blas, setting: str | None) -> Blas | None:
    """Return the library as it is with this value of `CORETYPE` (None: not set); None if it does not load."""
    variables = {name: value for name, value in os.environ.items() if name != CORETYPE}
    if setting is not None:
        variables[CORETYPE] = setting
    return _identify(blas.origin, blas.library, blas.prefix, variables)


def described(blas: Blas) -> str:
    """Return a description for users: name, version, kernels, where it comes from."""
    kernels = f", kernels for {blas.core}" if blas.core else ""
    return f"{blas.name} {blas.version} ({blas.origin}){kernels}, {blas.library}".replace("  ", " ")


def _candidates(compiler: str) -> Iterator[tuple[str, str, str]]:
    """Yield (origin, path, prefix), the site's own first."""
    for library in libraries.of_mkl("rt"):
        yield libraries.MKLROOT, library, ""
    for package in ("openblas", "lapack"):
        for named in libraries.of_pkg_config(package):
            yield f"pkg-config {package}", named, ""
    for name in ("libopenblas.so", "libmkl_rt.so", "liblapack.so"):
        if found := libraries.of_compiler(compiler, name):
            yield "compiler's path", found, ""
    package, name, prefix = EMBEDDED
    for scheme in ("platlib", "purelib"):
        yield "embedded", str(Path(sysconfig.get_path(scheme), package, "lib", name)), prefix


def _identify(origin: str, path: str, prefix: str, variables: Mapping[str, str] | None = None) -> Blas | None:
    """Load the library in a separate process and query it; None if it does not load or lacks a routine."""
    if not Path(path).is_file():
        return None
    answer = libraries.ask(own_python("-c", _INTERROGATION, path, prefix, *NEEDED), variables)
    try:
        said: dict[str, str] = json.loads(answer)
    except ValueError:
        return None
    if said["missing"]:
        return None
    name, version = _name_and_version(said)
    return Blas(
        name=name,
        version=version,
        origin=origin,
        library=str(Path(path).resolve()),
        prefix=prefix,
        configuration=said["openblas"] or said["mkl"] or said["blis"],
        core=said["core"],
    )


def _name_and_version(said: dict[str, str]) -> tuple[str, str]:
    for name, key, pattern in (
        ("OpenBLAS", "openblas", r"OpenBLAS ([\d.]+\S*)"),
        ("MKL", "mkl", r"Version ([\d.]+)"),
        ("BLIS", "blis", r"([\d.]+\S*)"),
    ):
        if said[key]:
            match = re.search(pattern, said[key])
            return name, match[1] if match else ""
    return "BLAS", ""
