"""Bars of block characters, an eighth of a column fine, or of `#` where those cannot be printed."""

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, columns: int, blocks: bool = True) -> str:
    """Return a bar over a share of the columns, never an empty one."""
    if not blocks:
        return "#" * max(1, round(share * columns))
    eighths = max(1, round(share * columns * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
