"""Every kind of hostile input by its name."""

from __future__ import annotations

import gc
import random

from tests import declared
from tests.fuzz import commands, damage, faults, inputs, tables
from tests.fuzz.inputs import Generator, Verdict

KINDS: dict[str, Generator] = {
    "command": commands.command,
    "table": tables.table,
    "damage": damage.damaged,
    "folder": damage.other_damaged,
    "fault": faults.faulty,
    "process": faults.of_a_process,
}
"""Those of `process` are processes of their own, all others forked children of one that has loaded everything."""


def tried(kind: str, seed: int, number: int) -> Verdict | None:
    """Try one input, which kind, seed and number decide; None where all is well."""
    chance = random.Random(f"{seed} {kind} {number}")
    return inputs.verdict(KINDS[kind], chance, "process" if kind == "process" else "forked")


def prepare() -> None:
    """Load everything and make the run that inputs are copied from, before the first input."""
    inputs.load()
    declared.catalog()  # kept, as what children make is not
    gc.freeze()  # forked children would copy every page whose objects their collectors look at
    damage.right_rows()
    for write in (damage.write_profiles, damage.write_campaign):
        damage.kept_other(write)
    for name in commands.cli.COMMANDS:
        commands.described(name)
