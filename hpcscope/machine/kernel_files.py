"""Small files in which the kernel states facts; one that cannot be read costs one fact, never the caller."""

import re
from pathlib import Path


def text_of(path: Path) -> str:
    """Return the text of a file without the space around it; empty where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def number_of(path: Path) -> int:
    """Return the integer in a file; 0 where there is none."""
    text = text_of(path)
    return int(text) if re.fullmatch(r"-?\d+", text) else 0
