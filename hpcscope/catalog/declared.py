"""The benchmarks as the native program of this version declares them, for what needs no build of it.

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
    """Return the kept catalog; whether a benchmark is available is only known of a build: all are."""
    kept = json.loads(FILE.read_text(encoding="utf-8"))
    every = [record | {"available": True, "reason": ""} for record in kept]
    return Catalog(TypeAdapter(list[Benchmark]).validate_python(every))
