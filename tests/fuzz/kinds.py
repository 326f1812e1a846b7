"""Every kind of hostile input by its name."""

from __future__ import annotations

import gc
import os
import random
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from tests import declared
from tests.fuzz import commands, damage, doors, faults, inputs, kills, outputs, server_door, tables
from tests.fuzz.inputs import Generator, Verdict

KINDS: dict[str, Generator] = {
    "command": commands.command,
    "table": tables.table,
    "output": outputs.output,
    "damage": damage.damaged,
    "folder": damage.other_damaged,
    "fault": faults.faulty,
    "process": faults.of_a_process,
    "exchange": doors.exchange,
    "import": doors.imported,
    "anonymize": doors.anonymous,
}
"""Those of `PROCESSES` are processes of their own, others forked children of one that has loaded everything."""
PROCESSES = ("process", "exchange")
CONVERSATIONS: dict[str, Callable[[random.Random], Verdict | None]] = {
    "kill": kills.killed,
    "serve": server_door.served,
}
"""Kinds that are more than one command."""
FAULTLESS = ("command", "table", "output", "damage", "folder")
"""Kinds that leave a process as it was: one child tries many."""


def tried(kind: str, seed: int, number: int) -> Verdict | None:
    """Try one input, which kind, seed and number decide; None where all is well."""
    chance = random.Random(f"{seed} {kind} {number}")
    if kind in CONVERSATIONS:
        return CONVERSATIONS[kind](chance)
    return inputs.verdict(KINDS[kind], chance, "process" if kind in PROCESSES else "forked")


def tried_in_turn(seed: int, which: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int, Verdict | None]]:
    """Try inputs, given by kind and number, and yield each with its verdict.

    One child tries those without faults in turn, up to the first that is wrong or ends the child: that one is
    tried again alone, and its verdict then counts.
    """
    for faultless, some in groupby(sorted(which, key=_is_faultless), _is_faultless):
        left = list(some)
        while left:
            well = _tried_by_one_child(seed, left) if faultless else 0
            yield from ((kind, number, None) for kind, number in left[:well])
            yield from ((kind, number, tried(kind, seed, number)) for kind, number in left[well : well + 1])
            left = left[well + 1 :]


def _is_faultless(one: tuple[str, int]) -> bool:
    return one[0] in FAULTLESS


def _tried_by_one_child(seed: int, which: Sequence[tuple[str, int]]) -> int:
    """Try inputs in a forked child until the first at which anything is wrong; return how many are well."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reader)
        inputs.prepare_child()
        for kind, number in which:
            if inputs.verdict(KINDS[kind], random.Random(f"{seed} {kind} {number}"), "here") is not None:
                break
            os.write(writer, b".")
        os._exit(0)
    os.close(writer)
    well = 0
    while select.select([reader], [], [], inputs.LIMIT_S)[0] and os.read(reader, 1):
        well += 1
    os.close(reader)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return well


def prepare() -> None:
    """Load everything and make the run that inputs are copied from, before the first input."""
    inputs.load()
    declared.catalog()  # kept, as what children make is not
    gc.freeze()  # forked children would copy every page whose objects their collectors look at
    damage.right_rows()
    doors.good_runs()
    server_door.packed()
    for write in damage.WRITERS:
        damage.kept_other(write)
    for name in commands.cli.COMMANDS:
        commands.described(name)
