"""Parts of an operation's time: its messages, packing, first touch and the rest, as stacked bars."""

from __future__ import annotations

from collections.abc import Iterator

from hpcscope import units
from hpcscope.findings.results import Run
from hpcscope.models.prediction.operation_parts import OperationParts
from hpcscope.report.figure import Figure, Table
from hpcscope.report.run.figures.grouping import chosen_words
from hpcscope.report.run.figures.stacked import bars, layout
from hpcscope.statistics.estimate import in_percent, in_unit

_PARTS = {"messages": 0, "packing": 4, "first touch": 8, "rest": 1}
"""Each part with the style of its bars, in stacking order."""
_MOST_CASES = 24


def figures(run: Run, benchmark: str) -> Iterator[Figure]:
    """Yield the parts of an operation on fresh buffers, with the ping-pong as reference."""
    found = [one for one in run.models.operations if one.subject.benchmark == benchmark][:_MOST_CASES]
    if not found:
        return
    labels = [chosen_words(one.subject, run.benchmarks) for one in found]
    yield Figure(
        key=f"{benchmark}-parts",
        title="Parts of the time, with the ping-pong as reference",
        caption="Messages: the operation's messages at the speed of the ping-pong. Packing: columns minus rows, "
        "both warm. First touch: fresh minus used buffers. The rest is contention, copies and the library's "
        "algorithm, and includes the parts that were not measured separately (a dash in the table). Negative "
        "parts have no bar.",
        traces=[
            bars(name, slot, labels, [max(_seconds(one, name) or 0.0, 0.0) for one in found])
            for name, slot in _PARTS.items()
        ],
        layout=layout(len(found), {"title": {"text": "share of the operation's time"}}, share=True),
        table=Table(
            ["case", "time", "share of the ping-pong", *_PARTS],
            [
                [
                    label,
                    in_unit(one.time_s, "s"),
                    in_percent(one.retained),
                    *(
                        "-" if (value := _seconds(one, name)) is None else units.quantity(value, "s")
                        for name in _PARTS
                    ),
                ]
                for one, label in zip(found, labels, strict=True)
            ],
        ),
        origins=sorted({s.origin for s in run.statistics.primary if s.benchmark == benchmark}),
        wide=True,
    )


def _seconds(one: OperationParts, name: str) -> float | None:
    parts = {
        "messages": one.messages_s.value,
        "packing": one.packing_s,
        "first touch": one.first_touch_s,
        "rest": one.rest_s,
    }
    return parts[name]
