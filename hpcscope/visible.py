"""Text from data, made safe: terminals, browsers and spreadsheets show it without interpreting it.

A host name, the name of a run or a line that a program printed may come from anybody.
"""

import re

HIDDEN = re.compile(
    "\r(?!\n)|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
"""Control characters except tabs and line ends; characters without width, or that reverse the text direction."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of cells that spreadsheets evaluate."""


def visible(text: str) -> str:
    """Return a text whose hidden characters are replaced by a visible sign."""
    return HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def cell(value: object) -> object:
    """Return what a spreadsheet shows unchanged: an apostrophe precedes a text that it would evaluate."""
    if not isinstance(value, str):
        return value
    return f"'{visible(value)}" if value.startswith(FORMULA) else visible(value)
