"""An experiment, from a TOML file, the command line or both."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from hpcscope.errors import UsageError, WrongValueError
from hpcscope.plan import hpl
from hpcscope.rundirectory import read_toml, shortened
from hpcscope.settings.experiment import Experiment

COMMAND_LINE = "the command line"
"""The source named in messages if no file was given."""


def resolve(file: Path | None, given: Mapping[str, Any]) -> Experiment:
    """Return the experiment of a TOML file or an HPL.dat (if any), overridden by the given settings.

    `given` maps dotted keys, such as `launcher.binding`, to values; None keeps the file's value. Raises UsageError
    naming file, key, value and what is allowed.
    """
    asked = _read(file) if file else {}
    own = {key: value for key, value in given.items() if value is not None}
    if file and own:
        resolve(file, {})  # values that an option replaces must be right, too
    for key, value in own.items():
        _put(asked, key.split("."), value)
    try:
        return Experiment.read(asked)
    except WrongValueError as refused:
        key = refused.key.lstrip(".")
        of_file = file is not None and not any(
            key == name or key.startswith((f"{name}.", f"{name}[")) for name in own
        )
        where = f"{file}: {key}" if of_file else key
        raise UsageError(f"{where} = {shortened(refused.value)}: {refused}") from refused


def asked_for(what: Sequence[str], given: Mapping[str, Any]) -> tuple[Path | None, dict[str, Any]]:
    """Return the experiment's file, and the given settings with the benchmarks that are named in addition.

    Raises UsageError if there is more than one file.
    """
    files = [word for word in what if word.endswith((".toml", ".dat"))]
    if len(files) > 1:
        raise UsageError(f"{files[1]}: only one file can be run at a time; {files[0]} is given, too")
    only = [word for word in what if word not in files]
    return Path(files[0]) if files else None, {**given, **({"only": only} if only else {})}


def write(experiment: Experiment) -> str:
    """Return the experiment as TOML that `resolve` reads back."""
    return tomli_w.dumps(experiment.plain())


def _read(file: Path) -> dict[str, Any]:
    if file.suffix == hpl.SUFFIX:
        return {"case": hpl.read(file)}
    return read_toml(file)


def _put(table: dict[str, Any], path: list[str], value: Any) -> None:
    for key in path[:-1]:
        inner = table.setdefault(key, {})
        if not isinstance(inner, dict):
            return  # the file's wrong value is reported by the validation
        table = inner
    table[path[-1]] = value
