"""The benchmarks as the native program declares them, kept for tests that start no program.

`tests/measure/test_declarations.py` compares the kept file with the program; `python -m tests.declared` renews it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from scope.catalog.benchmark import Benchmark
from scope.catalog.catalog import Catalog

FILE = Path(__file__).with_name("benchmarks.json")


@cache
def catalog() -> Catalog:
    """Return the kept catalog, with every benchmark available."""
    return Catalog(TypeAdapter(list[Benchmark]).validate_python(described()))


def described(*names: str) -> list[dict[str, Any]]:
    """Return the kept declarations, all or those of some benchmarks."""
    kept = json.loads(FILE.read_text())
    return [one | {"available": True, "reason": ""} for one in kept if not names or one["name"] in names]


def write(described: Iterable[Benchmark], file: Path = FILE) -> None:
    """Write declarations, one a line."""
    file.write_text("[\n" + ",\n".join(one.model_dump_json() for one in described) + "\n]\n")


if __name__ == "__main__":
    from scope.build import installations, registry
    from scope.engine.builds import native_program

    write(registry.load(native_program(installations.find(None)).program))
