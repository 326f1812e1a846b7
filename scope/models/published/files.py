"""Published curves of writing, reading and rewriting files, as far as their figures are printed, beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from scope import units
from scope.models.published.reference import FileCurve, Reference
from scope.models.published.reproduction import Row
from scope.statistics.ratio import ratio
from scope.statistics.summary import Summary

RATE = "bandwidth_bytes_per_s"
TRANSFER, FILE = "transfer_bytes", "file_bytes"


def rows(reference: Reference, summaries: list[Summary]) -> list[Row]:
    """Return the bandwidth of each size of files and blocks, then the ratios about which the source has words."""
    curves = {curve.words: _points(curve, summaries) for curve in reference.file}
    return [
        *(row for curve in reference.file for row in _rates(curve, curves[curve.words])),
        *(row for curve in reference.file for row in _blocks(curve, curves[curve.words])),
        *(row for curve in reference.file if curve.over for row in _over(curve, curves)),
    ]


def _points(curve: FileCurve, summaries: list[Summary]) -> list[Summary]:
    found = [
        one
        for one in summaries
        if (one.benchmark, one.metric, one.ranks) == (curve.benchmark, RATE, curve.ranks)
        and one.is_headline
        and curve.parameters.items() <= one.parameters.items()
    ]
    return sorted(found, key=lambda one: (_size(one, FILE), _size(one, TRANSFER)))


def _rates(curve: FileCurve, points: list[Summary]) -> Iterator[Row]:
    for one in points:
        sizes = f"{units.size(_size(one, FILE) * one.ranks)} in blocks of {units.size(_size(one, TRANSFER))}"
        yield _row(f"{curve.words}, {sizes}", one, one.median, "B/s", curve.most_bytes_per_s, curve.remark)


def _blocks(curve: FileCurve, points: list[Summary]) -> Iterator[Row]:
    """Yield what the largest blocks gain over the smallest, of the largest file."""
    largest = [one for one in points if _size(one, FILE) == _size(points[-1], FILE)]
    if len(largest) > 1 and curve.says_of_blocks:
        small, large = largest[0], largest[-1]
        blocks = f"{units.size(_size(large, TRANSFER))} over {units.size(_size(small, TRANSFER))}"
        gain = ratio(large.per_launch, small.per_launch).value
        yield _row(f"{curve.words}: blocks of {blocks}", large, gain, "1", None, curve.says_of_blocks)


def _over(curve: FileCurve, curves: dict[str, list[Summary]]) -> Iterator[Row]:
    """Yield this curve over another one, at the largest file and block that both have."""
    others = {(_size(one, FILE), _size(one, TRANSFER)): one for one in curves[curve.over]}
    same = [one for one in curves[curve.words] if (_size(one, FILE), _size(one, TRANSFER)) in others]
    if same:
        one = same[-1]
        other = others[_size(one, FILE), _size(one, TRANSFER)]
        share = ratio(one.per_launch, other.per_launch).value
        yield _row(f"{curve.words} over {curve.over}", one, share, "1", None, curve.says_of_over)


def _row(words: str, one: Summary, measured: float | None, unit: str, limit: float | None, remark: str) -> Row:
    return Row(
        row=words,
        published=None,
        predicted=None,
        measured=measured,
        unit=unit,
        limit=limit,
        origin=one.origin,
        size=_size(one, FILE),
        ranks=one.ranks,
        remark=remark,
    )


def _size(one: Summary, name: str) -> int:
    return int(str(one.parameters[name]))
