"""A simulated run in words and tables, for the report and the terminal: first the error of such values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from hpcscope import units
from hpcscope.report.figure import Table
from hpcscope.report.wording import letters
from hpcscope.simulation.gains import cost_of_a_percent, gained
from hpcscope.simulation.record import Beside, ErrorOf, OfferGain, Simulation
from hpcscope.statistics.estimate import in_unit
from hpcscope.statistics.summary import Summary

ERROR_OF_PROGRAMS = "The error of these times is not known: Scope did not measure the program."
FORMULAS = (
    "The formulas are the cost formulas of `scope predict`, and the models fitted to the run. If a model was "
    "fitted to the case itself, the error of the formula is marked, because this error validates nothing."
)
FITTED = "fitted"
GAINS = "Gain of the change: additional work in the same time"
SMALL_GAINS = "Gains smaller than the simulation error may not be real."
OFFERS = "Comparison of the offers: additional work in the same time, and the cost per percent"


@dataclass(frozen=True)
class New:
    """The values that were not measured."""

    title: str
    table: Table
    reasons: list[str]
    """Why values lie beyond the validation, each with the letter that denotes it in the table."""


def described(record: Simulation) -> str:
    """Return one line that says what was simulated."""
    changes = f" with {' '.join(record.changes)}" if record.changes else ""
    algorithms = f"collective algorithms chosen as in {record.collectives}"
    return f"{record.of}{changes}, simulated by {record.simulator}, {algorithms}"


def errors(record: Simulation) -> Table:
    """Return the error of each benchmark and of all benchmarks; without rows if nothing was measured."""
    whole = record.error_of()
    names = list(dict.fromkeys(row.benchmark for row in record.validation)) if whole else []
    lines: list[tuple[str, ErrorOf | None, str | None]] = [
        (f"{name}{' (input)' if name in record.inputs else ''}", record.error_of(name), name) for name in names
    ]
    if whole:
        others = "all except inputs of the platform" if set(names) & set(record.inputs) else "all"
        lines.append((others, whole, None))
    return Table.of(
        {
            "benchmark": words,
            "cases": str(error.cases) if error else "",
            "most ranks": str(error.most_ranks) if error else "",
            "median error": units.percent(error.median.value) if error else "",
            "lowest": units.change(error.smallest) if error else "",
            "highest": units.change(error.largest) if error else "",
            "formulas": _formula_words(record, benchmark),
        }
        for words, error, benchmark in lines
    ).without_empty()


def cases(record: Simulation) -> Table:
    """Return each case that was both measured and simulated."""
    return Table.of(
        {
            "case": row.label,
            "measured": in_unit(row.measured, row.unit),
            "simulated": units.quantity(row.simulated, row.unit),
            "error": units.change(row.error),
            "by formula": units.quantity(row.formula.value, row.unit) if row.formula else "",
            "formula's error": _formula_error(row),
        }
        for row in record.validation
    ).without_empty()


def gains(record: Simulation, found: Mapping[str, list[float]]) -> Table:
    """Return the gain from a change for each benchmark and for all, and the cost per percent gained."""
    lines = [(name, values, record.error_of(name)) for name, values in found.items()]
    if len(lines) > 1:
        lines.append(("all", [gain for values in found.values() for gain in values], record.error_of()))
    return Table.of(
        {
            "benchmark": name,
            "cases": str(len(values)),
            "median gain": units.change(median(values)),
            "least": units.change(min(values)) if len(values) > 1 else "",
            "most": units.change(max(values)) if len(values) > 1 else "",
            "cost per percent": _priced(record.cost, median(values)),
            "error where measured": _median(error),
        }
        for name, values, error in lines
    ).without_empty()


def offers(record: Simulation) -> Table:
    """Return the offers that were simulated side by side, lowest cost per percent gained first."""

    def price(offer_gain: OfferGain) -> float:
        return cost_of_a_percent(offer_gain.cost, offer_gain.median) or float("inf")

    return Table.of(
        {
            "offer": offer.name,
            "changes": " ".join(offer.changes),
            "cost": units.digits(offer.cost),
            "values": str(offer.figures),
            "median gain": units.change(offer.median) if offer.median is not None else "",
            "least": units.change(offer.least) if offer.least is not None else "",
            "most": units.change(offer.most) if offer.most is not None else "",
            "cost per percent": _priced(offer.cost, offer.median or 0.0),
        }
        for offer in sorted(record.offers, key=price)
    )


def new(record: Simulation, summaries: Sequence[Summary], unchanged: Sequence[Summary]) -> New | None:
    """Return the values that were not measured, each with what lies beyond the validation; None if there are none.

    `unchanged`: the same cases on the unchanged platform.
    """
    measured = {(row.label, row.metric) for row in record.validation} if not record.changes else set()
    further = [summary for summary in summaries if (summary.label, summary.metric) not in measured]
    if not further:
        return None
    before = {case.key: case for case in unchanged}
    reasons = list(dict.fromkeys(filter(None, map(record.beyond, further))))
    marks = dict(zip(reasons, letters(), strict=False))
    columns = ["case", "simulated", "unchanged", "change", "cost per percent", "median error"]
    rows = [
        [
            case.label,
            units.quantity(case.median, case.unit),
            *_change_words(case, before.get(case.key), record.cost),
            _median(record.error_of(case.benchmark)),
            *_new_formula(record, case),
            marks.get(record.beyond(case), ""),
        ]
        for case in further
    ]
    return New(
        f"Simulated with {' '.join(record.changes)}" if record.changes else "Simulated, not measured",
        Table([*columns, "by formula", "formula's error", "beyond"], rows).without_empty(),
        [f"{letter}  beyond the validation: {reason}" for reason, letter in marks.items()],
    )


def programs(record: Simulation) -> Table:
    """Return the times of the user's own program; without rows if there was none."""
    rows = [
        [" ".join(program.command), str(program.ranks), units.quantity(program.time_s, "s")]
        for program in record.programs
    ]
    return Table(["program", "ranks", "simulated time"], rows)


def has_formulas(record: Simulation) -> bool:
    """Return whether a closed formula covers any case."""
    return bool(record.formulas) or any(row.formula for row in record.validation)


def _formula_words(record: Simulation, benchmark: str | None) -> str:
    """Return the median error of the formulas, for cases that they were not fitted to if there are any."""
    proofs = record.formula_error_of(benchmark)
    if proofs is not None:
        return units.percent(proofs.median.value)
    known = record.formula_error_of(benchmark, fitted=True)
    return f"{units.percent(known.median.value)}, {FITTED}" if known else ""


def _formula_error(row: Beside) -> str:
    if row.formula is None or row.formula_error is None:
        return ""
    return units.change(row.formula_error) + (f", {FITTED}" if row.formula.fitted else "")


def _new_formula(record: Simulation, case: Summary) -> list[str]:
    """Return the time by a formula, and the error of the formulas for this benchmark."""
    said = record.formulas.get(case.label)
    if said is None:
        return ["", ""]
    return [units.quantity(said.value, case.unit), _median(record.formula_error_of(case.benchmark))]


def _median(error: ErrorOf | None) -> str:
    return f"±{units.percent(error.median.value)}" if error else "unknown"


def _change_words(case: Summary, old: Summary | None, cost: float | None) -> list[str]:
    """Return the time without the change, the relative change, and the cost per percent gained."""
    gain = gained(case, old)
    if gain is None or old is None or not case.median or not old.median:
        return ["", "", ""]
    return [units.quantity(old.median, old.unit), units.change(case.median / old.median - 1), _priced(cost, gain)]


def _priced(cost: float | None, gain: float) -> str:
    """Return the cost per percent gained, in words."""
    if cost is None:
        return ""
    priced = cost_of_a_percent(cost, gain)
    return "no gain" if priced is None else units.digits(priced)
