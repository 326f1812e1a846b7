"""Jobs and rounds of a mix with known times, and a run of them."""

from __future__ import annotations

from pathlib import Path

from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.mix import benchmarks
from hpcscope.checksum import with_checksum
from hpcscope.engine.analysis import analyze
from hpcscope.machine.discover import machine, this_host
from hpcscope.rundirectory import FORMAT, RunDirectory, RunFile, write_json
from hpcscope.samples.records import JobRecord, RoundRecord

MIX = "1 x long: ./long on 2 ranks + 2 x short: ./short on 1 rank"
CATALOG = Catalog(benchmarks(MIX, "both", [("long: ./long", "long"), ("short: ./short", "short")]))
START = 1.7e9


def job(number: int, name: str, ranks: int, beside: str, elapsed_s: float, status: str = "ok") -> JobRecord:
    return JobRecord.model_validate(
        {
            "record": "job",
            "round": number,
            "job": f"{name}: ./{name}",
            "ranks": ranks,
            "beside": beside,
            "origin": "measured",
            "status": status,
            "reason": "" if status == "ok" else "exit code 3",
            "started_unix_s": START,
            "elapsed_s": elapsed_s,
            "processor_s": 0.5 * ranks * elapsed_s,
        }
    )


def round_of(number: int, slowness: float = 1.0, status: str = "ok") -> list[JobRecord | RoundRecord]:
    """Return a round on four processors: alone 4 s and 1 s; in the mix 5 s and 2 s, all done after 6 s."""
    records: list[JobRecord | RoundRecord] = [
        job(number, "long", 2, "nothing", 4 * slowness),
        job(number, "short", 1, "nothing", 1 * slowness),
        job(number, "long", 2, "mix", 5 * slowness),
        job(number, "short", 1, "mix", 2 * slowness),
        job(number, "short", 1, "mix", 2 * slowness, status),
    ]
    end = {"record": "round", "round": number, "mix": MIX, "slots": 4, "jobs": 5, "origin": "measured"}
    return [*records, RoundRecord.model_validate(end | {"started_unix_s": START, "elapsed_s": 6 * slowness})]


def write(folder: Path) -> Path:
    """Write a run of seven equal rounds, with everything derived, and return its folder."""
    directory = RunDirectory(folder)
    directory.path.mkdir()
    head = {"format": FORMAT, "scope_version": "1", "name": "both", "module": "", "command": []}
    when = {"started_unix_s": START, "finished_unix_s": START + 60, "status": "finished"}
    write_json(directory.run, RunFile.model_validate(head | when | {"mix": "both", "rounds": 7}))
    write_json(directory.machine, machine([this_host()], None))
    write_json(directory.benchmarks, [one.model_dump() for one in CATALOG])
    records = [record for number in range(1, 8) for record in round_of(number)]
    lines = (with_checksum(one.model_dump_json(exclude={"crc32"}).encode()) for one in records)
    directory.samples.write_bytes(b"".join(line + b"\n" for line in lines))
    analyze(directory.path)
    return directory.path
