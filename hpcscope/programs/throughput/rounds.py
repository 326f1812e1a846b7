"""A round: every job alone, and all jobs of the mix concurrently, recorded as they end."""

import random
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from hpcscope.catalog.mix import ALONE, TOGETHER
from hpcscope.checksum import with_checksum
from hpcscope.errors import ScopeError, naming
from hpcscope.launch import processes
from hpcscope.programs.campaign.execution import ERRORS, MARK, Outcome, execute
from hpcscope.programs.throughput.mix import Job, Mix
from hpcscope.programs.throughput.starting import JobStarter, processor_time
from hpcscope.samples.records import JobRecord, Origin, RoundRecord


class Slots:
    """The free slots of each host."""

    def __init__(self, slots: Sequence[int]) -> None:
        self._free = list(slots)

    def take(self, ranks: int) -> list[int] | None:
        """Take slots for a job and return how many on each host; None if too few are free.

        A job gets the fullest host with room for it, else the emptiest hosts, and thus few hosts in any case.
        """
        if sum(self._free) < ranks:
            return None
        fitting = [position for position, free in enumerate(self._free) if free >= ranks]
        if fitting:
            order = [min(fitting, key=lambda position: self._free[position])]
        else:
            order = sorted(range(len(self._free)), key=lambda position: -self._free[position])
        taken = [0] * len(self._free)
        for position in order:
            taken[position] = min(self._free[position], ranks - sum(taken))
        self._free = [free - count for free, count in zip(self._free, taken, strict=True)]
        return taken

    def give_back(self, taken: Sequence[int]) -> None:
        """Release the slots of a job that ended."""
        self._free = [free + count for free, count in zip(self._free, taken, strict=True)]


Beside = Literal["nothing", "mix"]
Listener = Callable[[JobRecord | RoundRecord], None]
"""Called with every record when it is written."""


@dataclass(frozen=True)
class Started:
    """A running job."""

    job: Job
    taken: list[int]
    folder: Path
    thread: threading.Thread


@dataclass(frozen=True)
class EndedJob:
    """A job that ended, or could not be started."""

    folder: Path
    outcome: Outcome | Exception


@dataclass(frozen=True)
class MixRounds:
    """Executes and records the rounds of a measurement."""

    mix: Mix
    starter: JobStarter
    directory: Path
    """The working directory of the jobs."""
    outputs: Path
    """Directory for the output of failed jobs."""
    samples: Path
    origin: Origin
    listener: Listener

    def measure(self, number: int) -> float:
        """Measure one round and return its duration in seconds.

        The mix comes first in every other round, so that changes during the run affect both parts alike.
        """
        began_s = time.monotonic()
        chance = random.Random(f"{self.mix.seed} {number}")
        alone = chance.sample(self.mix.job, len(self.mix.job))
        if number % 2:
            self._alone(number, alone)
            end = self._together(number, chance)
        else:
            end = self._together(number, chance)
            self._alone(number, alone)
        self._write(end)
        return time.monotonic() - began_s

    def _alone(self, number: int, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._run(number, [job], ALONE)

    def _together(self, number: int, chance: random.Random) -> RoundRecord:
        jobs = [job for job in self.mix.job for _ in range(job.weight)]
        chance.shuffle(jobs)
        records = self._run(number, jobs, TOGETHER)
        began_unix_s = min(record.started_unix_s for record in records)
        return RoundRecord(
            record="round",
            round=number,
            mix=self.mix.words,
            slots=sum(self.starter.slots),
            jobs=len(self.mix.job) + len(records),
            origin=self.origin,
            started_unix_s=began_unix_s,
            elapsed_s=max(record.started_unix_s - began_unix_s + record.elapsed_s for record in records),
        )

    def _run(self, number: int, jobs: Sequence[Job], beside: Beside) -> list[JobRecord]:
        """Run jobs in order as slots become free; a job that does not fit yet lets later jobs pass."""
        slots = Slots(self.starter.slots)
        ended: SimpleQueue[EndedJob] = SimpleQueue()
        waiting = list(enumerate(jobs, 1))
        running: dict[Path, Started] = {}
        records = []
        try:
            while waiting or running:
                for position, job in list(waiting):
                    if (taken := slots.take(job.ranks)) is not None:
                        folder = self.outputs / f"{number:04d}-{beside}-{position:04d}-{job.name}"
                        running[folder] = self._started(job, taken, folder, ended)
                        waiting.remove((position, job))
                ended_job = ended.get()
                of = running.pop(ended_job.folder)
                of.thread.join()
                slots.give_back(of.taken)
                if isinstance(ended_job.outcome, Exception):
                    raise ended_job.outcome
                records.append(self._record(number, of.job, beside, ended_job.outcome, of.folder))
        finally:
            _end(list(running.values()))
        return records

    def _started(self, job: Job, taken: list[int], folder: Path, ended: SimpleQueue[EndedJob]) -> Started:
        command = self.starter.command(job, taken)

        def run() -> None:
            outcome: Outcome | Exception
            try:
                outcome = execute(command, folder, self.directory, job.limit_s, job.check)
            except (ScopeError, OSError) as error:
                outcome = error
            ended.put(EndedJob(folder, outcome))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return Started(job, taken, folder, thread)

    def _record(self, number: int, job: Job, beside: Beside, outcome: Outcome, folder: Path) -> JobRecord:
        printed = (folder / ERRORS).read_text(errors="replace")
        record = JobRecord(
            record="job",
            round=number,
            job=job.words,
            ranks=job.ranks,
            beside=beside,
            origin=self.origin,
            status=outcome.status,
            reason=outcome.reason,
            started_unix_s=outcome.started_unix_s,
            elapsed_s=outcome.elapsed_s,
            processor_s=processor_time(printed, job.ranks),
        )
        if outcome.status == "ok":
            _remove(folder)
        self._write(record)
        return record

    def _write(self, record: JobRecord | RoundRecord) -> None:
        line = with_checksum(record.model_dump_json(exclude={"crc32"}).encode())
        with naming(self.samples), self.samples.open("ab") as file:
            file.write(line + b"\n")
        self.listener(record)


def _end(running: Sequence[Started]) -> None:
    """Kill jobs that are still running, including jobs that are just starting."""
    for started in running:
        while started.thread.is_alive():
            processes.kill(lambda one=started: processes.with_variable(MARK, str(one.folder)))  # type: ignore[misc]
            started.thread.join(0.1)
        _remove(started.folder)


def _remove(folder: Path) -> None:
    """Remove the output of a job, and the parent directory if it is then empty."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()
