"""Short names of the runs of a comparison."""

from string import ascii_uppercase


def letter(number: int) -> str:
    """Return the letter of a run, counted from 0: A to Z, then AA, AB."""
    before, last = divmod(number, len(ascii_uppercase))
    return (letter(before - 1) if before else "") + ascii_uppercase[last]
