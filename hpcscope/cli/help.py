"""Help of a command, its options under headings: those that most people need first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter, Parameter

_of_python = re.compile(r" <(list\[(str|Path)\]|str|path)>$")
"""A Python type, which means nothing to the user of a command."""
MOST_OPTIONS = 30
"""A command with more options lists those under headings by name only; `--help-all` explains them."""
HELP_ALL = "--help-all"
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class GroupedOptions(TyperCommand):
    """A command whose help lists options by heading (`rich_help_panel`), those without one first."""

    def collect_usage_pieces(self, ctx: Context) -> list[str]:
        """Return the words of the usage line as manuals have them: `[OPTIONS] RUN [PATTERN]...`."""
        arguments = [parameter for parameter in self.get_params(ctx) if parameter.param_type_name == "argument"]
        return [*filter(None, [self.options_metavar]), *map(_in_usage, arguments)]

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write the arguments, then the options of each heading in the order of their first option."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx)
            if line is not None:
                name, text = line
                default = "Arguments" if parameter.param_type_name == "argument" else "Options"
                heading = getattr(parameter, "rich_help_panel", None) or default
                sections.setdefault(heading, []).append((_of_python.sub("", name), text))
        whole = ctx.find_root().obj or sum(map(len, sections.values())) <= MOST_OPTIONS
        for heading, lines in sections.items():
            if lines:
                with formatter.section(heading):
                    if whole or heading in ("Arguments", "Options"):
                        formatter.write_dl(lines)
                    else:
                        formatter.write_text(", ".join(name.split()[0] for name, _ in lines))
        if not whole:
            formatter.write_paragraph()
            formatter.write_text(f"{ctx.command_path} {HELP_ALL} explains all options.")


def _in_usage(argument: Parameter) -> str:
    """Return `RUN`, `RUN...`, `[RUN]` or `[RUN]...`; a name that ends in dots already says that it is repeated."""
    name = argument.metavar or str(argument.name).upper()
    if argument.required:
        return name if argument.nargs == 1 or name.endswith("...") else f"{name}..."
    return f"[{name}]" if argument.nargs == 1 or name.endswith("...") else f"[{name}]..."
