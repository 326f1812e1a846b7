"""Execution of a campaign, one run after another; a crash loses at most the run in progress."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

from hpcscope.errors import InterruptedRunError, ScopeError
from hpcscope.programs.campaign import features
from hpcscope.programs.campaign import folder as folders
from hpcscope.programs.campaign.execution import execute
from hpcscope.programs.campaign.features import Features
from hpcscope.programs.campaign.folder import CampaignFolder, Head
from hpcscope.programs.campaign.record import CampaignJournal, RunRecord
from hpcscope.programs.campaign.starting import Starter
from hpcscope.programs.campaign.study import Planned, Study, filled
from hpcscope.programs.profiles import PROFILES

Listener = Callable[[RunRecord, int, int | None], None]
"""Called with each finished run, the number of finished runs, and the total (None: limited by time only)."""


def run(folder: CampaignFolder, head: Head, starter: Starter, listener: Listener) -> None:
    """Execute the runs that do not have a record yet.

    Raises InterruptedRunError when asked to stop; the directory is then valid and can be resumed. A run that fails
    is recorded, and the next run starts.
    """
    journal = CampaignJournal(folder.records)
    folders.mark(folder, "running")
    todo: Iterable[Planned]
    total: int | None = None
    if head.kind == "soak":
        todo = soaking(head.study, head.soak_s, head.soak_runs, list(journal.records))
    else:
        runs, known = head.runs(), {record.number for record in journal.records}
        todo, total = [planned for planned in runs if planned.number not in known], len(runs)
    try:
        for planned in todo:
            record = one(folder, planned, starter, Path(head.folder))
            # A soak has thousands of runs; times of routines are only in the profiles of the runs that it keeps.
            journal.add(record.model_copy(update={"routines": {}}) if head.kind == "soak" else record)
            if head.kind == "soak" and len(journal.records) > 2 and journal.records[-2].status == "ok":
                # Of thousands of runs a day, only the failed, the first and the last are kept.
                shutil.rmtree(folder.run(journal.records[-2].number), ignore_errors=True)
            listener(record, len(journal.records), total)
    except KeyboardInterrupt:
        folders.mark(folder, "interrupted")
        raise InterruptedRunError(f"interrupted after {len(journal.records)} runs") from None
    folders.mark(folder, "finished")


def one(folder: CampaignFolder, planned: Planned, starter: Starter, directory: Path) -> RunRecord:
    """Execute one run in `directory` and return its record."""
    study, monitor = starter.study, starter.monitor
    own = folder.run(planned.number)
    shutil.rmtree(own, ignore_errors=True)  # left by a run that a crash interrupted
    profiles = own / PROFILES
    profiles.mkdir(parents=True)
    command = starter.command(planned, own)
    outcome = execute(command, own, directory, study.limit_s, filled(study.check, planned, own))
    found, reason = Features(), outcome.reason
    if monitor is not None:
        monitor.note(own, command.arguments, outcome)
        try:
            found = features.of_folder(own)
        except ScopeError as error:
            reason = reason or str(error)
    # If the command chooses the number of ranks, only its profiles tell.
    ranks = planned.ranks if study.says_ranks else found.ranks or planned.ranks
    return RunRecord(
        **{**dict(planned), **vars(outcome), "ranks": ranks, "reason": reason},
        oversubscribed=starter.oversubscribed(planned.ranks),
        features=found.figures,
        routines=found.routines,
    )


def soaking(study: Study, seconds: float | None, runs: int | None, done: Sequence[RunRecord]) -> Iterator[Planned]:
    """Yield the runs of a soak until its time is over, including the time before it was resumed."""
    (point,) = study.points()
    begin_s, before_s = time.monotonic(), sum(record.elapsed_s for record in done)
    for number in count(len(done) + 1):
        if runs is not None and number > runs:
            return
        if seconds is not None and number > 1 and before_s + time.monotonic() - begin_s >= seconds:
            return
        yield Planned(**dict(point), number=number, repetition=number)
