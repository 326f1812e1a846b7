"""How a quantity is written for readers: engineering units, never ambiguous.

Times are ns, µs, ms, s; rates kB/s, MB/s, GB/s (10^3, 10^6, 10^9 bytes); numbers of bytes KiB, MiB, GiB (1024,
1024^2, 1024^3 bytes), because sizes of messages, arrays and memories are usually powers of two.
"""

import math
import re

_TIME = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]
_DECIMAL = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")]
_BASE = {
    "byte/s": "B/s",
    "bytes/s": "B/s",
    "B/s": "B/s",
    "flop/s": "flop/s",
    "flops": "flop/s",
    "flops/s": "flop/s",
    "flop": "flop",
    "Hz": "Hz",
    "bit/s": "bit/s",
    "bits/s": "bit/s",
    "1/s": "/s",
    "message/s": "msg/s",
    "messages/s": "msg/s",
}
_SIZES = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
BYTES = ("B", "byte", "bytes")
_BINARY = [*((float(factor), name) for factor, name in _SIZES), (1.0, "B")]
_COUNTS = {"", "1"}
_FACTORS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
SUFFIXES = "Ki, Mi and Gi"


def scale(unit: str, magnitude: float) -> tuple[float, str]:
    """Return (factor, name) of the engineering unit that suits `magnitude`: 3e-6 s gives (1e-6, "µs").

    A unit that takes no prefix, such as `percent`, comes back with the factor 1.
    """
    size = abs(magnitude)
    if unit == "s":
        steps = _TIME
    elif unit in BYTES:
        steps = _BINARY
    elif unit in _BASE:
        base = _BASE[unit]
        steps = [(factor, prefix + base) for factor, prefix in _DECIMAL]
    elif unit == "s/byte" or unit == "s/B":
        return 1e-9, "ns/B"
    else:
        return 1.0, "" if unit in _COUNTS else unit
    if size == 0 or not math.isfinite(size):
        return (1.0, steps[0][1]) if unit == "s" else (1.0, steps[-1][1])
    # 999.95 would print as "1000": the next larger unit starts at values that round to more than three digits.
    return next((step for step in steps if size >= step[0] * 0.9995), steps[-1])


def quantity(value: float | None, unit: str) -> str:
    """Write a value with three significant digits and its unit: `12.3 µs`, `4 cores`; a missing one is a dash."""
    if value is None:
        return "–"
    factor, name = scale(unit, value)
    if unit in BYTES and value % factor == 0:
        return _join(str(int(value / factor)), name)
    counted = factor == 1.0 and unit != "s" and unit not in _BASE and value == int(value) and abs(value) < 1e7
    return _join(str(int(value)) if counted else digits(value / factor), name)


def printed(count: float | None) -> str:
    """Write a number of bytes in powers of ten, as sources print theirs: `40 MB`, `1240 B`; a dash for none."""
    if count is None:
        return "–"
    if count == int(count) and count < 1000:
        return f"{count:.0f} B"
    for factor, prefix in _DECIMAL[:-1]:
        if count >= factor and abs(round(count / factor, 1) * factor - count) < 1e-9 * count:
            return f"{count / factor:.12g} {prefix}B"
    if count == int(count) and count < 10_000:
        return f"{count:.0f} B"
    factor, prefix = next((step for step in _DECIMAL if count >= step[0]), (1.0, ""))
    return f"{digits(count / factor)} {prefix}B"


def is_share(metric: str) -> bool:
    """Return whether a metric is a fraction, which is written in percent."""
    return metric.endswith("_share")


def figure(value: float | None, unit: str, metric: str) -> str:
    """Write a value of a metric, fractions in percent."""
    return share(value) if is_share(metric) else quantity(value, unit)


def signed(value: float, unit: str) -> str:
    """Write a change with its sign: `+1.43 µs`."""
    return ("+" if value > 0 else "") + quantity(value, unit)


def interval(value: float | None, low: float | None, high: float | None, unit: str) -> str:
    """Write a value with its interval in the value's unit (the interval's, if it is 0): `12.3 µs [12.1, 12.6]`."""
    if value is None:
        return "–"
    factor, name = scale(unit, value or max(abs(low or 0.0), abs(high or 0.0)))
    head = _join(digits(value / factor), name)
    if low is None or high is None:
        return head
    return f"{head} [{digits(low / factor)}, {digits(high / factor)}]"


def share(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """Write a fraction in percent with its interval: `91 % [89, 93]`; small values keep two digits."""
    if value is None:
        return "–"
    head = f"{_percent(value)} %"
    if low is None or high is None:
        return head
    return f"{head} [{_percent(low)}, {_percent(high)}]"


def percent(value: float, decimals: int = 0) -> str:
    """Write a fraction in percent with this many decimals: `91 %`, `2.5 %`."""
    return f"{100 * value:.{decimals}f} %"


def change(value: float, *bounds: float) -> str:
    """Write a relative change with its bounds: `+2.5 % [+1.9, +3.1]`, `3.10x [2.80, 3.42]`."""
    head, *others = changes(value, *bounds)
    return head + (f" [{', '.join(other.rstrip(' %x') for other in others)}]" if others else "")


def changes(*values: float) -> list[str]:
    """Write relative changes in one form: as signed percent, or as factors if one is a doubling or more."""
    return [f"{digits(1 + value)}x" if max(values) >= 1 else f"{100 * value:+.1f} %" for value in values]


def longer(excess: float, low: float | None = None, high: float | None = None) -> str:
    """Compare two times in words: `26 % [24, 28] longer than` or, if at least doubled, `3.60 times as long as`."""
    if excess < 1:
        return f"{share(excess, low, high)} longer than"
    low, high = (None if one is None else 1 + one for one in (low, high))
    return f"{interval(1 + excess, low, high, '')} times as long as"


def size(count: float) -> str:
    """Write a size in bytes as it was chosen: 16384 is `16 KiB`, 1500 is `1500 B`, 0 is `0 B`."""
    whole = int(count)
    if whole != count:
        return quantity(count, "B")
    for factor, name in _SIZES:
        if whole and whole % factor == 0:
            return f"{whole // factor} {name}"
    return f"{whole} B"


def parsed(text: str) -> int | float:
    """Read a number as users type it: `1024`, `1Ki`, `0.5Mi`; raises ValueError for anything else."""
    match = re.fullmatch(r"([+-]?(?:\d{1,18}(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(Ki|Mi|Gi)?", text, re.ASCII)
    if match is None:
        raise ValueError(f"{text!r}: must be a number; {SUFFIXES} may follow")
    number = (float(match[1]) if set(match[1]) & set(".eE") else int(match[1])) * _FACTORS[match[2] or ""]
    if math.isinf(number):
        raise ValueError(f"{text!r}: too large")
    return number


def whole(text: str) -> int:
    """Read an integer as users type it: `1024`, `-1`, `1Ki`; raises ValueError for anything else."""
    number = parsed(text)
    if not isinstance(number, int):
        raise ValueError(f"{text!r}: must be an integer; {SUFFIXES} may follow")
    return number


def digits(value: float) -> str:
    """Write a plain number with three significant digits and no needless exponent."""
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return str(value)
    rounded = f"{value:.2e}"
    exponent = int(rounded.partition("e")[2])  # after rounding: 9.996 has the exponent of 10.0
    return f"{value:.{max(0, 2 - exponent)}f}" if -4 <= exponent < 7 else rounded


def parameter(name: str, value: bool | int | float | str) -> str:
    """Write a parameter's value: sizes in bytes as sizes, everything else unchanged."""
    if name.endswith("_bytes") and isinstance(value, int | float) and not isinstance(value, bool):
        return size(value)
    return str(value)


def without_unit(name: str) -> str:
    """Return the name of a quantity without its unit: `bandwidth_bytes_per_s` is `bandwidth`."""
    for unit in ("_bytes_per_s", "_flops_per_s", "_per_s", "_bytes", "_s"):
        name = name.removesuffix(unit)
    return name


def named(metric: str) -> str:
    """Return the name of a metric in words: `message_rate_per_s` is `message rate`."""
    return without_unit(metric).replace("_", " ")


def count(number: int, noun: str, plural: str = "") -> str:
    """Return `1 finding`, `2 findings`, `1,000 findings`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def grouped(number: int) -> str:
    """Write a whole number with commas between thousands if it has five digits or more: `1,048,576`."""
    return f"{number:,}" if abs(number) >= 10_000 else str(number)


def _percent(value: float) -> str:
    percent = 100 * value
    return f"{percent:.1f}" if 0 < abs(percent) < 9.95 else f"{percent:.0f}"


def _join(number: str, unit: str) -> str:
    return f"{number} {unit}" if unit else number
