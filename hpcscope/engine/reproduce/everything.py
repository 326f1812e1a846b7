"""`scope reproduce --all`: every published experiment, one after the other, in one report."""

import time
from collections.abc import Callable
from pathlib import Path

from pydantic import TypeAdapter

from hpcscope.engine.directories import new_directory
from hpcscope.engine.reproduce.own_command import run_scope
from hpcscope.engine.reproduce.reproduce import ReproduceOptions
from hpcscope.errors import InterruptedRunError, UsageError
from hpcscope.locks import LOCK
from hpcscope.models.published import reference
from hpcscope.models.published.overview import ComparedValue, Overview, RepeatedExperiment
from hpcscope.rundirectory import read_json, write_json, write_text

OVERVIEW = "reproductions.json"
PAGE = "reproductions.html"
LEAST_S = 60.0
"""Least time for an experiment, however many are still to come."""


Listener = Callable[[str, int, int], None]
"""Receives the name of the next experiment, how many are done, and how many there are."""


def reproduce_all(options: ReproduceOptions, listener: Listener) -> tuple[Overview, Path]:
    """Repeat every published experiment that has no results in the folder yet, and write the report.

    Each gets a share of the time that is left. One that fails or takes longer is reported and does not stop the
    others; what it measured is kept, and it continues when the folder is resumed.
    """
    folder = options.resume or new_directory("reproductions", options.output).path
    done = _done(folder, options)
    todo = [name for name in reference.names() if name not in done or done[name].reason]
    end_s = time.monotonic() + options.time_s
    try:
        while todo:
            for number, name in enumerate(todo):
                listener(name, number, len(todo))
                left_s = end_s - time.monotonic()
                share_s = max(LEAST_S, 2 * left_s / (len(todo) - number))
                done[name] = _one(name, folder, options, min(share_s, left_s))
                _written(folder, options, done)
            # Time left over by other experiments goes to those that had too little.
            todo = [name for name in todo if done[name].unfinished and time.monotonic() < end_s]
    except KeyboardInterrupt:
        kind = "--quick " if options.quick else "--full " if options.full else ""
        raise InterruptedRunError(f"interrupted; resume: scope reproduce --all {kind}--resume {folder}") from None
    return _written(folder, options, done), folder


def _one(name: str, folder: Path, options: ReproduceOptions, limit_s: float) -> RepeatedExperiment:
    """Repeat one experiment, or only what is missing of it."""
    described = reference.load(name)
    outcome = RepeatedExperiment(name=name, title=described.title, source=described.source, rows=[])
    if limit_s <= 0:
        return outcome.model_copy(update={"reason": "the time limit was reached before this experiment began"})
    own = folder / name
    begun = own.is_dir() and any(path.name != LOCK for path in own.iterdir())
    words = ["reproduce", name, "--json", "--resume" if begun else "--output", str(own)]
    if mpi := options.given.get("mpi"):
        words += ["--mpi", mpi]
    if options.full:
        words.append("--full")
    if options.quick:
        words += ["--launches", "1", "--budget", "0.05"]
    begin_s = time.monotonic()
    ended = run_scope(words, limit_s=limit_s)
    found = {"seconds": round(time.monotonic() - begin_s, 1)}
    if ended.code == 0:
        rows = TypeAdapter(list[ComparedValue]).validate_json(ended.output)
        return outcome.model_copy(update=found | {"rows": rows})
    reason = ended.reason or f"ended with exit code {ended.code}"
    if ended.out_of_time:
        reason = f"not finished within {limit_s:.0f} s; its measurements are kept"
    return outcome.model_copy(update=found | {"reason": reason, "unfinished": ended.out_of_time})


def _done(folder: Path, options: ReproduceOptions) -> dict[str, RepeatedExperiment]:
    """Return what an earlier command did in the folder, by name."""
    file = folder / OVERVIEW
    if not file.is_file():
        if options.resume is not None:
            raise UsageError(f"{folder}: must contain {OVERVIEW}, which `scope reproduce --all` writes")
        return {}
    before = read_json(file, Overview)
    if (before.quick, before.full) != (options.quick, options.full):
        kind = "--quick" if before.quick else "--full" if before.full else "neither --quick nor --full"
        raise UsageError(f"{folder}: was begun with {kind}; give {kind} again")
    return {outcome.name: outcome for outcome in before.outcomes}


def _written(folder: Path, options: ReproduceOptions, done: dict[str, RepeatedExperiment]) -> Overview:
    """Write what is known so far: the data and the report."""
    from hpcscope.report import reproduction

    overview = Overview(
        quick=options.quick, full=options.full, outcomes=[done[name] for name in reference.names() if name in done]
    )
    write_json(folder / OVERVIEW, overview)
    write_text(folder / PAGE, reproduction.render(overview))
    return overview
