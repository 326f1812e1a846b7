"""Asks a native program for the benchmarks that it has (`scope-measure --action=list`)."""

import subprocess
from collections.abc import Sequence

from pydantic import TypeAdapter, ValidationError

from hpcscope.catalog.benchmark import Benchmark
from hpcscope.catalog.catalog import Catalog
from hpcscope.commands import captured
from hpcscope.errors import ScopeError
from hpcscope.rundirectory import explain

TIMEOUT_S = 60


def load(program: str, start: Sequence[str] = ()) -> Catalog:
    """Return the catalog of a native program; raises ScopeError if it does not run or prints anything else.

    `start`: the words before it if it does not start by itself.
    """
    command = [*start, program, "--action=list"]
    try:
        answer = captured(command, TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = getattr(error, "strerror", None) or f"no answer in {TIMEOUT_S} s"
        raise ScopeError(f"{program}: does not run: {reason}; run `scope build`") from error
    if answer.returncode != 0:
        said = (answer.stderr.strip().splitlines() or ["nothing"])[0]
        raise ScopeError(f"{program}: --action=list ended with {answer.returncode} and said: {said}")
    try:
        benchmarks = TypeAdapter(list[Benchmark]).validate_json(answer.stdout)
    except ValidationError as error:
        raise ScopeError(f"{program}: its list of benchmarks: {explain(error)}") from error
    sources: dict[str, str] = {}
    for benchmark in benchmarks:
        if benchmark.name in sources:
            raise ScopeError(
                f"{benchmark.source}: {benchmark.name}: also declared by {sources[benchmark.name]}; must be unique"
            )
        sources[benchmark.name] = benchmark.source
    return Catalog(benchmarks)
