"""The functions of the public API; `import hpcscope` loads this module when one of them is first used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hpcscope.comparison import compare as comparing
from hpcscope.comparison.comparison import Comparison
from hpcscope.engine.progress import RunProgress, silent
from hpcscope.engine.run import run as runs
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.locks import release
from hpcscope.plan.experiment import COMMAND_LINE, asked_for, resolve
from hpcscope.report import paper
from hpcscope.report.run.selection import select
from hpcscope.settings.experiment import Experiment
from hpcscope.settings.kinds import did_you_mean
from hpcscope.settings.table import declared

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def open_run(path: Path | str) -> Run:
    """Return the run in a run directory, such as `runs/latest`; raises UsageError if there is none."""
    return Run(path)


def run(*what: str, output: Path | None = None, progress: RunProgress = silent, **settings: object) -> Run:
    """Measure, derive everything, write the report, and return the run.

    Args:
        what: an experiment (a .toml file or HPL.dat) and benchmarks (mpi.latency, mpi.*, mpi), as for `scope run`.
        output: the run directory; None: a new one below runs/.
        progress: makes the listener that is notified of launches and cases.
        settings: the options of `scope run` by their names, with `_` for dashes: `launches=3`, `hosts="a:2,b:2"`.

    Raises:
        UsageError: what is asked for is not possible.
        ScopeError: the run cannot go on; a failed case is not an error, see `Run.well`.

    """
    known = {setting.word: setting.key for setting in declared(Experiment)}
    if unknown := [word for word in settings if word not in known]:
        near = did_you_mean(unknown[0], list(known))
        raise UsageError(f"{unknown[0]}: must be one of {', '.join(known)}{near}")
    file, given = asked_for(what, {known[word]: value for word, value in settings.items()})
    experiment = resolve(file, given)
    outcome = runs.run(experiment, str(file or COMMAND_LINE), output, ("scope.run", *what), progress)
    release(outcome.directory.path)
    return Run(outcome.directory.path)


def figure(run: Run | Path | str, *patterns: str) -> Drawing:
    """Draw a swept result as `scope figure` does, and return matplotlib's figure.

    Args:
        run: a run, or its directory.
        patterns: benchmarks and filters: `"mpi.latency", "mode=standard"`; the first curve is drawn.

    Raises:
        UsageError: nothing was swept, a pattern matches nothing, or matplotlib is not installed.

    """
    opened = run if isinstance(run, Run) else Run(run)
    chosen = opened.replaced(statistics=select(opened.statistics, patterns))
    return paper.drawing(paper.figures({opened.path.name: chosen})[0])


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
    first, second = (run.path if isinstance(run, Run) else Path(run) for run in (before, after))
    return comparing.compare(first, second, threshold=threshold, across_machines=across_machines)
