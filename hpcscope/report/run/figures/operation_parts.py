"""Parts of an operation's time: its messages, packing, first touch and the rest, as stacked bars."""

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
    """Yield the parts of an operation on cold buffers, with the ping-pong as the reference."""
    parts = [operation for operation in run.models.operations if operation.subject.benchmark == benchmark][
        :_MOST_CASES
    ]
    if not parts:
        return
    labels = [chosen_words(operation_parts.subject, run.benchmarks) for operation_parts in parts]
    yield Figure(
        key=f"{benchmark}-parts",
        title="Parts of the time, with the ping-pong as reference",
        caption="Messages: the operation's messages at the speed of the ping-pong. Packing: time of columns - "
        "time of rows, both with warm buffers. First touch: time with cold buffers - time with warm buffers. "
        "The rest contains contention, copies, slower links, the library's algorithm, and the parts that were "
        "not measured separately (a dash in the table). Negative parts have no bar.",
        traces=[
            bars(
                name, slot, labels, [max(_seconds(operation_parts, name) or 0.0, 0.0) for operation_parts in parts]
            )
            for name, slot in _PARTS.items()
        ],
        layout=layout(len(parts), "fraction of the operation's time", share=True),
        table=Table(
            ["case", "time", "fraction of the ping-pong", *_PARTS],
            [
                [
                    label,
                    in_unit(operation_parts.time_s, "s"),
                    in_percent(operation_parts.retained),
                    *(
                        "-" if (value := _seconds(operation_parts, name)) is None else units.quantity(value, "s")
                        for name in _PARTS
                    ),
                ]
                for operation_parts, label in zip(parts, labels, strict=True)
            ],
        ),
        origins=sorted({s.origin for s in run.statistics.primary if s.benchmark == benchmark}),
        wide=True,
    )


def _seconds(operation_parts: OperationParts, name: str) -> float | None:
    parts = {
        "messages": operation_parts.messages_s.value,
        "packing": operation_parts.packing_s,
        "first touch": operation_parts.first_touch_s,
        "rest": operation_parts.rest_s,
    }
    return parts[name]
