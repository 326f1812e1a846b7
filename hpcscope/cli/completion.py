"""`scope completion`: commands, options and their values, completed by a shell."""

from typing import Annotated

import typer

from hpcscope.errors import UsageError

BASH = """\
{function}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} known
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{subcommands}
    *) case "${{COMP_WORDS[1]}}" in
{commands}
      esac ;;
  esac
  [ "$COMP_CWORD" -eq 1 ] && known="{names}"
  case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
  esac
  COMPREPLY=($(compgen -W "$known" -- "$word"))
}}
complete -o default -F {function} scope
"""
ZSH = """\
#compdef scope
autoload -U +X bashcompinit && bashcompinit
{bash}\
# As a file on the fpath, this is the first call of _scope itself.
[ "$funcstack[1]" = _scope ] && _bash_complete -o default -F _scope_words
"""
SHELLS = ("bash", "zsh", "fish")


def command(shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print shell completions for commands and options; use them as in `source <(scope completion bash)`."""
    if shell not in SHELLS:
        raise UsageError(f"{shell}: must be one of {', '.join(SHELLS)}")
    print(script(shell), end="")


def script(shell: str) -> str:
    """Return the completion of one of `SHELLS`: to be sourced, or stored where the shell looks for it."""
    if shell == "fish":
        return "\n".join(_fish()) + "\n"
    return ZSH.format(bash=_bash("_scope_words")) if shell == "zsh" else _bash("_scope")


def _bash(function: str) -> str:
    from hpcscope.cli import COMMANDS
    from hpcscope.cli.grammar import commands

    known = {words.name: " ".join(words.spellings) for words in commands()}
    inner: dict[str, list[str]] = {}
    for full in known:
        first, _, second = full.partition(" ")
        if second:
            inner.setdefault(first, []).append(second)
    whole = {name: " ".join(inner[name]) if name in inner else known[name] for name in COMMANDS}
    return BASH.format(
        function=function,
        subcommands="\n".join(f'    "{full}") known="{words}" ;;' for full, words in known.items() if " " in full),
        commands="\n".join(f'      {name}) known="{words}" ;;' for name, words in whole.items()),
        names=" ".join(["help", *COMMANDS]),
        values="\n".join(
            f'    "{command.name.split()[0]} {option}") known="{words}" ;;'
            for command in commands()
            for option, words in command.values.items()
        ),
    )


def _fish() -> list[str]:
    from hpcscope.cli import COMMANDS
    from hpcscope.cli.grammar import commands

    lines = ["complete -c scope -f -n __fish_use_subcommand -a help -d 'explain a command'"]
    lines += [
        f"complete -c scope -f -n __fish_use_subcommand -a {name} -d {_quoted(summary)}"
        for name, summary in COMMANDS.items()
    ]
    for command in commands():
        first, *rest = command.name.split()
        seen = f"__fish_seen_subcommand_from {first}"
        if rest:
            lines.append(f"complete -c scope -f -n '{seen}' -a {rest[0]}")
            seen += f"; and __fish_seen_subcommand_from {rest[0]}"
        for spelling in command.spellings:
            option = f"-l {spelling[2:]}" if spelling.startswith("--") else f"-s {spelling[1:]}"
            words = command.values.get(spelling)
            lines.append(f"complete -c scope -n '{seen}' {option}" + (f" -x -a '{words}'" if words else ""))
    return lines


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "\\'") + "'"
