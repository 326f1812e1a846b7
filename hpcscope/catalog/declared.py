"""The benchmarks as the native program of this version declares them, for code that does not need a build.

A test compares the kept file with the program; `python -m tests.declared` renews it.
"""

import json
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.catalog.catalog import Catalog

FILE = Path(__file__).with_name("declared.json")


@cache
def declared() -> Catalog:
    """Return the kept catalog, with every benchmark available: only a build knows whether it really is."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    every = [record | {"available": True, "reason": ""} for record in kept]
    return Catalog(TypeAdapter(list[Benchmark]).validate_python(every))
