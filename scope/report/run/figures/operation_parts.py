"""What of an operation's time its messages would take, and where the rest goes: stacked bars."""

from __future__ import annotations

from collections.abc import Iterator

from scope import units
from scope.models.fit import OperationParts
from scope.report.figure import Figure, Table
from scope.report.run.contents import Contents
from scope.report.run.figures.stacked import bars, layout

_PARTS = {"messages": 0, "packing": 4, "first touch": 8, "rest": 1}
"""Each part with the look of its bars, in the order in which they are stacked."""
_MOST_CASES = 24


def figures(contents: Contents, benchmark: str) -> Iterator[Figure]:
    """Yield the parts of an operation that was measured on fresh buffers, beside a ping-pong."""
    found = [one for one in contents.models.operations if one.subject.benchmark == benchmark][:_MOST_CASES]
    if not found:
        return
    labels = [_label(one) for one in found]
    yield Figure(
        key=f"{benchmark}-parts",
        title="Share of the ping-pong, and where the rest of the time goes",
        caption="Messages: what the operation's messages would take at the pace of the ping-pong. Packing: "
        "columns less rows, warm. First touch: fresh buffers less used ones. The rest is contention, copies and "
        "the library's algorithm, and holds what was not told apart because no warm variant was measured (a dash "
        "in the table). A negative part (cheaper than its counterpart) has no bar.",
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
                    units.interval(one.time_s.value, one.time_s.low, one.time_s.high, "s"),
                    units.share(one.retained.value, one.retained.low, one.retained.high),
                    *(
                        "-" if (value := _seconds(one, name)) is None else units.quantity(value, "s")
                        for name in _PARTS
                    ),
                ]
                for one, label in zip(found, labels, strict=True)
            ],
        ),
        origins=sorted({s.origin for s in contents.headline if s.benchmark == benchmark}),
        wide=True,
    )


def _label(one: OperationParts) -> str:
    words = [f"{name} {value}" for name, value in one.subject.parameters.items() if name not in ("memory", "rows")]
    transport = [] if one.subject.transport == "default" else [one.subject.transport]
    return ", ".join([f"{one.subject.ranks} ranks", *words, *transport])


def _seconds(one: OperationParts, name: str) -> float | None:
    if name == "messages":
        return one.messages_s.value
    return {"packing": one.packing_s, "first touch": one.paging_s, "rest": one.rest_s}[name]
