"""Settings as options of a command: their names, help and values come from their declaration."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from hpcscope.errors import UsageError
from hpcscope.settings.kinds import Flag, Several
from hpcscope.settings.table import Declared

Given = dict[str, Any]
"""The settings that were typed, by their keys, such as `launcher.binding`."""


def takes(**groups: Sequence[Declared]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take settings as options: each argument named here receives those that were typed."""

    def with_options(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in own.parameters.values():
            declared = groups.get(parameter.name)
            parameters += [parameter] if declared is None else map(_parameter, declared)

        @functools.wraps(function)
        def command(**typed: Any) -> None:
            given = {
                name: {
                    setting.key: value for setting in declared if (value := typed.pop(setting.word)) is not None
                }
                for name, declared in groups.items()
            }
            function(**typed, **given)

        keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        command.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
        return command

    return with_options


def refuse_beside(resumed: Path, *given: Mapping[str, Any], **further: object) -> None:
    """Raise UsageError if settings, or further options, are given together with --resume."""
    keys = [key for names in given for key in names] + [name for name, value in further.items() if value]
    if keys:
        raise UsageError(f"--resume {resumed}: the run keeps its settings; {keys[0]} must not be given")


def _parameter(declared: Declared) -> inspect.Parameter:
    kind = declared.setting.kind
    flag = isinstance(kind, Flag)
    option = f"--{declared.option}"
    spelling = f"{option}/--no-{declared.option}" if flag and declared.default else option
    of_type: Any = bool if flag else list[str] if isinstance(kind, Several) and kind.repeated else str
    shown = typer.Option(
        spelling,
        metavar=None if flag else kind.metavar,
        help=declared.help,
        rich_help_panel=declared.setting.panel or None,
        show_default=False,
        callback=lambda value: _value(declared, value),  # in the callback, so that `check` refuses it, too
    )
    return inspect.Parameter(
        declared.word, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[of_type | None, shown]
    )


def _value(declared: Declared, typed: Any) -> Any:
    """Return the value that was typed, None without one; UsageError names option, text and allowed values."""
    kind = declared.setting.kind
    if typed is None or isinstance(typed, bool):
        return typed
    if isinstance(kind, Several) and kind.repeated:
        return tuple(_read(declared, kind.of.typed, text) for text in typed) or None
    return _read(declared, kind.typed, typed)


def _read(declared: Declared, read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except ValueError as error:
        raise UsageError(f"--{declared.option} {text}: {error}") from error
