"""What a message names, without the words around it."""

from __future__ import annotations

import re


def mentions(message: str, parts: str) -> bool:
    """Tell whether a message has these parts in this order; `...` stands for any text between them."""
    pattern = ".*".join(re.escape(part.strip(" ")) for part in parts.split("..."))
    return re.search(pattern, message, re.DOTALL) is not None


def numbers(message: str) -> list[int]:
    """Return the whole numbers that a message states, in their order."""
    return [int(number) for number in re.findall(r"\d+", message)]
