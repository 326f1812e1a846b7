"""Small files in which the kernel states facts; an unreadable one costs one fact, never an error."""

import re
from pathlib import Path


def text_of(path: Path) -> str:
    """Return the text of a file without surrounding white space; empty if it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def number_of(path: Path) -> int:
    """Return the integer in a file; 0 if there is none."""
    text = text_of(path)
    return int(text) if re.fullmatch(r"-?\d+", text) else 0
