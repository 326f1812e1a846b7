"""The `scope` of a page's directory: that of this checkout, with options that shorten what it measures.

Usage: brief_scope.py SCOPE WORD..., where SCOPE is the installed one.
SCOPE_DOCUMENTED_BRIEF holds options by command as JSON, which are added where they are not given.
SCOPE_DOCUMENTED_SHORTER holds options that are added in any case, so that they replace the given ones.
"""

import json
import os
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parents[2])
BRIEF = "SCOPE_DOCUMENTED_BRIEF"
SHORTER = "SCOPE_DOCUMENTED_SHORTER"


def shortened(words: list[str], brief: dict[str, str], shorter: str) -> list[str]:
    """Return the words of a command with options that make it short."""
    end = words.index("--") if "--" in words else len(words)
    own, program = words[:end], words[end:]
    last = shorter.split()
    given = {word.partition("=")[0] for word in [*own, *last]}
    lab = own.index("--lab") if "--lab" in own else -2
    plain = [word for at, word in enumerate(own) if at not in (lab, lab + 1)]
    if "--resume" in own or (own[0] == "reproduce" and "--all" in own):
        return words  # it keeps what it began with, or has a brief form of its own
    options = next((text for name, text in brief.items() if plain[: name.count(" ") + 1] == name.split()), "")
    added = [word for option in _pairs(options.split()) if option[0] not in given for word in option]
    return [*own, *added, *last, *program]


def _pairs(words: list[str]) -> list[list[str]]:
    """Return options with their values."""
    starts = [at for at, word in enumerate(words) if word.startswith("-")]
    return [words[at:to] for at, to in zip(starts, [*starts[1:], len(words)], strict=False)]


if __name__ == "__main__":
    real, *given = sys.argv[1:]
    brief = json.loads(os.environ.get(BRIEF, "{}"))
    words = shortened(given, brief, os.environ.get(SHORTER, ""))
    program = (
        f"import sys; sys.path.insert(0, {ROOT!r}); sys.argv[0] = {real!r}; from hpcscope.cli import main; main()"
    )
    os.execv(sys.executable, [sys.executable, "-I", "-c", program, *words])
