"""`scope manual`: the manual page, from the commands' own help."""

from __future__ import annotations


def command() -> None:
    """Print the manual page in the form of man(7), as in `scope manual | man -l -`."""
    from scope.cli import EXAMPLES, GROUPS
    from scope.cli.grammar import commands
    from scope.version import VERSION

    lines = [
        f'.TH SCOPE 1 "" "Scope {VERSION}" "User Commands"',
        ".SH NAME",
        r"scope \- measures a cluster layer by layer and says where performance is lost, and why",
        ".SH SYNOPSIS",
        r".B scope",
        r".I COMMAND",
        "[OPTIONS]",
        ".SH COMMANDS",
    ]
    for heading, group in GROUPS.items():
        lines.append(f".SS {_plain(heading)}")
        for name, summary in group.items():
            lines += [".TP", f".B {_plain(name)}", _plain(summary)]
    lines.append(".SH OPTIONS OF COMMANDS")
    for each in commands():
        lines += [f".SS scope {_plain(each.name)}", *(_plain(line) for line in each.help.splitlines() if line)]
        lines += [".PP", f".B {_plain(each.usage)}"]
        for spelling, meaning in each.options:
            lines += [".TP", f".B {_plain(spelling)}", _plain(meaning)]
    examples = [_plain(line) for line in EXAMPLES.splitlines()[1:]]
    lines += [".SH EXAMPLES", ".nf", *examples, ".fi", ".SH EXIT STATUS", *_EXIT]
    print("\n".join(lines))


_EXIT = [
    "0 success; 1 a case failed, data were wrong, or a regression was asked to fail; 2 bad usage or input;",
    "124 the time limit of the job came before the end of the run; 130 Ctrl-C, SIGTERM or a closed terminal did.",
]


def _plain(text: str) -> str:
    """Return a text that the formatter takes as it stands: no escapes, no request at the begin of a line."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + escaped if escaped.startswith((".", "'")) else escaped
