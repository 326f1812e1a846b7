"""The order in which people list names with numbers in them."""

import re


def natural(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts `n2` before `n10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text) if part]
