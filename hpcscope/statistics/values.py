"""The raw values behind a summary, for users who need more than the summary."""

from hpcscope.samples.samples import CaseSamples, Floats
from hpcscope.statistics.definitions import observed, series_of, times_under
from hpcscope.statistics.summary import Summary


def seconds_behind(summary: Summary, case: CaseSamples) -> Floats | None:
    """Return the times of one launch from which the summary was derived, in the order in which they were taken.

    These are seconds per operation (a rate is derived from them), seconds per step if the metric is the time of a
    step, or the observed quantity; shape (counted repetitions,). None if the launch failed or lacks what the
    definition needs.
    """
    if not case.ok:
        return None
    if summary.definition == "observed":
        taken = observed(summary.metric, case.times)
        return None if taken is None else taken[1][taken[0].counted]
    series = series_of(summary.definition, case.times)
    times = times_under(summary.definition, series) if series is not None else None
    return None if series is None or times is None else times[series.counted] / summary.steps
