"""Command lines from what the commands say of themselves: any options, with hostile and sensible values."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

from typer.core import TyperArgument, TyperOption

from hpcscope import cli
from tests.fuzz import values
from tests.fuzz.inputs import Input
from tests.fuzz.tables import EXAMPLES

Parameter = TyperArgument | TyperOption
SENSIBLE = {
    **{
        "run": "run",
        "runs": "run",
        "study": "study.toml",
        "file": "topology.toml",
        "what": "mpi.latency",
        "n": "480",
    },
    **{
        "algorithm": "cannon",
        "case": "mpi.latency message_bytes=8,1Ki",
        "hosts": "a:2,b:2",
        "ranks": "2",
        "only": "mpi",
    },
    **{"benchmark": "mpi.latency", "patterns": "mpi", "words": "true", "program": "true", "module": "baseline"},
    **{
        "name": "pair",
        "host": "pair1",
        "time": "1",
        "output": "new",
        "resume": "run",
        "topology": "topology.toml",
    },
}
"""Values that lead further into a command, by the names of parameters."""
HARMLESS_SHARE = 0.5


@cache
def described(name: str) -> dict[tuple[str, ...], list[Parameter]]:
    """Return the parameters of a command, or of each of its subcommands, by the words that begin it."""
    top: Any = cli.parser(name)
    subcommands = getattr(top, "commands", None)
    if subcommands is None:
        return {(name,): top.params}
    return {(name, word): command.params for word, command in subcommands.items()}


def command(chance: random.Random, place: Path) -> Input:
    """Return a command with some of its options, beside a run and an example of each file that people write."""
    from tests.fuzz.damage import small_run

    for name, text in EXAMPLES.items():
        (place / name).write_text(text)
    if chance.random() < HARMLESS_SHARE:
        small_run(place / "run")
    known = described(chance.choice(list(cli.COMMANDS)))
    begin = chance.choice(list(known))
    parameters = known[begin]
    words = [*begin]
    for parameter in chance.sample(parameters, min(len(parameters), chance.choice((0, 1, 1, 2, 3, 5)))):
        words += as_words(parameter, chance)
    for parameter in parameters:
        if isinstance(parameter, TyperArgument) and chance.random() < 0.8:
            words += [value_of(parameter, chance) for _ in range(chance.choice((1, 1, 2)))]
    if chance.random() < 0.1:
        words.insert(chance.randrange(len(words) + 1), values.word(chance))
    if chance.random() < 0.1:
        words += ["--", values.word(chance), values.word(chance)]
    return Input(words)


def as_words(parameter: Parameter, chance: random.Random) -> list[str]:
    """Return an option with a value, as people type it."""
    if not isinstance(parameter, TyperOption):
        return []
    name = chance.choice([*parameter.opts, *parameter.secondary_opts])
    if parameter.is_flag:
        return [name]
    value = value_of(parameter, chance)
    return [f"{name}={value}"] if name.startswith("--") and chance.random() < 0.3 else [name, value]


def value_of(parameter: Parameter, chance: random.Random) -> str:
    """Return a sensible value of a parameter, or any word."""
    if chance.random() < HARMLESS_SHARE:
        return SENSIBLE.get(str(parameter.name)) or chance.choice(("1", "2", "10", "0.5"))
    return values.word(chance)
