"""`scope manual`: the manual page, from the commands' own help."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from hpcscope.cli.output import written
from hpcscope.errors import UsageError
from hpcscope.version import VERSION

AS_IT_STANDS = "\b\n"
"""Click's mark for a paragraph that keeps its line breaks."""
COMPLETIONS = {
    "bash": "bash-completion/completions/scope",
    "zsh": "zsh/site-functions/_scope",
    "fish": "fish/vendor_completions.d/scope.fish",
}
"""Files where each shell looks for completions, below PREFIX/share."""


def command(
    install: Annotated[
        Path | None,
        typer.Option(
            metavar="PREFIX",
            help="Write the manual page and completions (bash, zsh, fish) to PREFIX/share; example: ~/.local.",
        ),
    ] = None,
) -> None:
    """Print the manual page in the form of man(7), as in `scope manual | man -l -`."""
    if install is None:
        print(page())
        return
    from hpcscope.cli.completion import script
    from hpcscope.rundirectory import write_text

    share = install / "share"
    files = {share / "man/man1/scope.1": page() + "\n"}
    files |= {share / place: script(shell) for shell, place in COMPLETIONS.items()}
    for path, text in files.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--install {install}: {path.parent}: {error.strerror}") from error
        write_text(path, text)
        written(path)


def page() -> str:
    """Return the manual page."""
    from hpcscope.cli import EXAMPLES, GROUPS
    from hpcscope.cli.grammar import commands

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
    for words in commands():
        lines += [f".SS scope {_plain(words.name)}", *_paragraphs(words.help)]
        lines += [".PP", f".B {_plain(words.usage)}"]
        for spelling, meaning in words.options:
            lines += [".TP", f".B {_plain(spelling)}", _plain(meaning)]
    examples = [_plain(line) for line in EXAMPLES.splitlines()[1:]]
    lines += [".SH EXAMPLES", ".nf", *examples, ".fi", ".SH EXIT STATUS", *_EXIT]
    return "\n".join(lines)


_EXIT = [
    r"0 success; 1 a case failed, data were wrong, or \-\-fail\-on\-regression found a regression;",
    "2 bad usage or input; 124 the time limit of the job ended the run;",
    "130 Ctrl-C, SIGTERM or a closed terminal ended the run.",
]


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the lines of a help text; a marked paragraph keeps its line breaks."""
    for number, paragraph in enumerate(text.split("\n\n")):
        marked = paragraph.startswith(AS_IT_STANDS)
        lines = [_plain(line) for line in paragraph.removeprefix(AS_IT_STANDS).splitlines() if line.strip()]
        yield from [".PP"] * (number > 0)
        yield from [".nf", *lines, ".fi"] if marked else lines


def _plain(text: str) -> str:
    """Return a line of text escaped so that the formatter prints it literally and reads no request in it."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return r"\&" + escaped if escaped.startswith((".", "'")) else escaped
