"""The functions of the public API; `import scope` loads this module when one of them is first used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from scope.comparison import compare as comparing
from scope.comparison.comparison import Comparison
from scope.engine import run as runs
from scope.engine.options import RunOptions, experiment_and_patterns
from scope.engine.progress import RunProgress, silent
from scope.engine.results import Run


def open_run(path: Path | str) -> Run:
    """Return the run in a run directory, such as `runs/latest`; raises UsageError where there is none."""
    return Run(path)


def run(*what: str, options: RunOptions | None = None, progress: RunProgress = silent) -> Run:
    """Measure, derive everything, write the report, and return the run.

    Args:
        what: an experiment (a .toml file, or an HPL.dat) and benchmarks (mpi.latency, mpi.*, mpi), as `scope run`.
        options: everything else that `scope run` takes.
        progress: makes the listener that is notified of launches and cases.

    Raises:
        UsageError: what is asked for is not possible.
        ScopeError: the run cannot go on; a failed case is no error, see `Run.well`.

    """
    file, patterns = experiment_and_patterns(what)
    chosen = options or RunOptions()
    chosen = replace(
        chosen,
        experiment=file or chosen.experiment,
        only=patterns or chosen.only,
        command=chosen.command or ("scope.run", *what),
    )
    return Run(runs.run(chosen, progress).directory.path)


def compare(
    before: Run | Path | str, after: Run | Path | str, *, threshold: float = 0.02, across_machines: bool = False
) -> Comparison:
    """Compare two runs case by case.

    Args:
        before: a run, or its directory.
        after: another one.
        threshold: relative changes below this count as equal.
        across_machines: compare although the machines differ.

    Raises:
        UsageError: the runs cannot be compared.

    """
    first, second = (each.path if isinstance(each, Run) else Path(each) for each in (before, after))
    return comparing.compare(first, second, threshold=threshold, across_machines=across_machines)
