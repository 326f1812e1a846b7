"""The benchmarks as the native program declares them, kept for tests that start no program.

`tests/measure/test_declarations.py` compares the kept file with the program; `python -m tests.declared` renews it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.catalog.declared import FILE
from hpcscope.catalog.declared import declared as catalog

__all__ = ["catalog", "described", "write"]


def described(*names: str) -> list[dict[str, Any]]:
    """Return the kept declarations, all or those of some benchmarks."""
    return [one.model_dump() for one in catalog() if not names or one.name in names]


def write(described: Iterable[Benchmark], file: Path = FILE) -> None:
    """Write declarations, one a line."""
    file.write_text("[\n" + ",\n".join(one.model_dump_json() for one in described) + "\n]\n")


if __name__ == "__main__":
    from hpcscope.build import installations, native, registry

    write(registry.load(native.build(installations.find(None)).program))
