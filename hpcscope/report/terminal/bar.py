"""Bars of block characters with a resolution of 1/8 column, or of `#` if block characters cannot be printed."""

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar(share: float, columns: int, blocks: bool = True) -> str:
    """Return a bar over a fraction of the columns, never an empty bar."""
    if not blocks:
        return "#" * max(1, round(share * columns))
    eighths = max(1, round(share * columns * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
