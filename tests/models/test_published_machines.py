"""Published figures of historic machines: cases that the benchmarks have, in their units."""

from __future__ import annotations

import pytest

from hpcscope.catalog.declared import declared
from hpcscope.errors import UsageError
from hpcscope.models.published.machines import machines, named


def test_every_figure_is_of_a_case_that_can_be_measured() -> None:
    for machine in machines():
        keys = [(one.label, one.metric) for one in machine.figures]
        assert len(keys) == len(set(keys)), machine.id
        for one in machine.figures:
            benchmark = declared()[one.benchmark]
            metric = benchmark.metric[one.metric]
            assert (metric.unit, metric.better, one.value > 0) == (one.unit, one.better, True), one.label
            for name, value in one.parameters.items():
                known = benchmark.parameter[name]
                for each in value if isinstance(value, list) else [value]:
                    assert not known.choices or each in known.choices, one.label
                    assert type(each) is type(known.default), one.label


def test_figures_are_those_that_are_printed() -> None:
    sp2 = {one.label: one.value for one in named("sp2").figures}
    assert sp2["mpi.broadcast call=blocking message_bytes=262144 ranks=6"] == 10.2e-3
    param = {one.label: one.value for one in named("param-hpcc").figures}
    assert param["algorithm.linpack n=14000 ranks=8, the best case"] == 3.45e9
    assert param["application.npb_lu class=B ranks=8"] == 801.42
    # Table G.1: 840 points on 16 processes.
    assert 13.0 in [one.value for one in named("sgi-o2").figures if one.ranks == 16]
    with pytest.raises(UsageError, match=r"cray: .*: beowulf-gamma, grid, sp2"):
        named("cray")


def test_a_case_fits_where_it_says_what_the_source_says() -> None:
    sp2 = next(one for one in named("sp2").figures if one.benchmark == "mpi.latency")
    case = {"message_bytes": 0, "mode": "standard", "completion": "blocking", "cache": "warm"}
    assert sp2.fits(case, "default")
    assert not sp2.fits(case, "tcp")
    assert not sp2.fits(case | {"mode": "ready"}, "default")
    alone = next(one for one in named("sgi-o2").figures if one.ranks == 1)
    assert alone.fits(dict(alone.parameters), "tcp"), "one process sends no messages"
