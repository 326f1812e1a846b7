"""Tables of settings: dataclasses whose fields say what is allowed, what they mean, and how they are typed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self, cast

from hpcscope.errors import WrongValueError
from hpcscope.settings.kinds import Flag, Kind, did_you_mean

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core import CoreSchema


SETTING = "setting"
"""The key of a field's metadata that holds its setting."""


@dataclass(frozen=True)
class Setting:
    """What a field of a table means; the field itself has its name, type and default."""

    kind: Kind
    help: str
    panel: str = ""
    """The heading of the help under which it is listed; empty: before all headings."""
    option: str = ""
    """The option without dashes if it differs from the field's name without its unit."""


def setting(default: Any, kind: Kind, help: str, panel: str = "", option: str = "") -> Any:  # noqa: A002
    """Declare a field of a table with its default and what it means."""
    return field(default=default, metadata={SETTING: Setting(kind, help, panel, option)})


@dataclass(frozen=True)
class Declared:
    """A setting with the field that has it."""

    key: str
    """The key in files, with its tables: `launcher.binding`."""
    setting: Setting
    default: Any

    @property
    def option(self) -> str:
        """The option without dashes: `time-limit` for `launcher.time_limit_s`."""
        name = self.key.rpartition(".")[2].removesuffix("_s").removesuffix("_bytes")
        return self.setting.option or name.replace("_", "-")

    @property
    def word(self) -> str:
        """The option as a Python identifier."""
        return self.option.replace("-", "_")

    @property
    def help(self) -> str:
        """The meaning with the default."""
        if self.default in (None, ()) or isinstance(self.setting.kind, Flag):
            return self.setting.help
        return f"{self.setting.help.removesuffix('.')}; default: {self.setting.kind.words(self.default)}."


class SettingsTable:
    """A frozen table of settings; undeclared keys are refused."""

    @classmethod
    def read(cls, given: Any) -> Self:
        """Return the table from a file or a program; WrongValueError names key, value and what is allowed."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, dict):
            raise WrongValueError("", given, "must be a table")
        known = _settings(cls)
        for key, value in given.items():
            if key not in known:
                near = did_you_mean(str(key), list(known))
                raise WrongValueError(f".{key}", value, f"unknown key; allowed here: {', '.join(known)}{near}")
        try:
            return cls(**{key: _read(key, known[key], value) for key, value in given.items()})
        except WrongValueError:
            raise
        except ValueError as error:
            raise WrongValueError("", given, str(error)) from error

    def plain(self) -> dict[str, Any]:
        """Return the table in the form of files, without values that are not set."""
        values = {key: (setting, getattr(self, key)) for key, setting in _settings(type(self)).items()}
        return {
            key: value.plain() if isinstance(value, SettingsTable) else setting.kind.plain(value)
            for key, (setting, value) in values.items()
            if value is not None
        }

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Let pydantic records have such a table as a field."""
        from pydantic_core import core_schema

        written = core_schema.plain_serializer_function_ser_schema(lambda table: table.plain())
        return core_schema.no_info_plain_validator_function(cls.read, serialization=written)

    @classmethod
    def __get_pydantic_json_schema__(cls, _schema: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the table in the schemas of such records."""
        properties = {declared.key: declared.setting.kind.schema for declared in declared(cls)}
        return {"type": "object", "properties": properties, "additionalProperties": False}


def declared(table: type[SettingsTable]) -> tuple[Declared, ...]:
    """Return the settings of a table and of the tables in it, in their order."""
    return tuple(_declared(table, ""))


def chosen(table: type[SettingsTable], *words: str) -> tuple[Declared, ...]:
    """Return those settings of a table whose options are named, in the order of `words`."""
    known = {setting.word: setting for setting in declared(table)}
    return tuple(known[word] for word in words)


def _declared(table: type[SettingsTable], prefix: str) -> Iterator[Declared]:
    for key, setting in _settings(table).items():
        if isinstance(setting, SettingsTable):
            yield from _declared(type(setting), f"{prefix}{key}.")
        else:
            yield Declared(f"{prefix}{key}", setting, getattr(table, key))


def _settings(table: type[SettingsTable]) -> dict[str, Any]:
    """Return the setting of each field, or its default if the field is a table."""
    return {each.name: each.metadata.get(SETTING, each.default) for each in fields(cast(Any, table))}


def _read(key: str, setting: Setting | SettingsTable, value: Any) -> Any:
    try:
        if isinstance(setting, SettingsTable):
            return setting.read(value)
        return None if value is None else setting.kind.read(value)
    except WrongValueError as wrong:
        raise WrongValueError(f".{key}{wrong.key}", wrong.value, str(wrong)) from wrong
    except ValueError as error:
        raise WrongValueError(f".{key}", value, str(error)) from error
