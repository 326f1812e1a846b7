"""Conversion of printed values with units to the base unit of a metric."""

import re

from hpcscope.catalog.benchmark import Metric
from hpcscope.exchange.imports import metric, slug
from hpcscope.exchange.imports.lines import number

_DECIMAL = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_UNIT = re.compile(
    rf"(?P<prefix>{'|'.join([*_BINARY, *filter(None, _DECIMAL)])}|)"
    r"(?:(?P<time_s>s|sec|seconds)|(?P<bandwidth_bytes_per_s>(?:B|[Bb]ytes)/s(?:ec)?)"
    r"|(?P<flops_per_s>[Ff][Ll][Oo][Pp](?:s|S|/s)))$"
)
_BASIC = {"time_s": "s", "bandwidth_bytes_per_s": "B/s", "flops_per_s": "flop/s"}


def measured(printed: str, unit: str, better: str = "higher") -> tuple[Metric, float]:
    """Return the metric and the value of a printed quantity: times, byte rates and flop rates in base units.

    Any other unit is kept as part of the metric's name; `better` is the direction of such a metric.
    """
    match = _UNIT.match(unit)
    if match is None:
        name = "value" if unit in ("", "1") else f"value_{slug(unit.replace('%', 'percent'))}"
        return metric(name, unit or "1", "value", better), number(printed)
    name = next(name for name in _BASIC if match[name])
    prefix = match["prefix"]
    value = number(printed) * _BINARY[prefix] if prefix in _BINARY else number(printed, _DECIMAL[prefix])
    return metric(name, _BASIC[name], name.partition("_")[0], "lower" if name == "time_s" else "higher"), value
