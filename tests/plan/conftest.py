"""A small catalog, made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from hpcscope.catalog.benchmark import Benchmark, Metric, Parameter, Sweep
from hpcscope.catalog.catalog import Catalog
from hpcscope.catalog.ranks import Ranks


def describe(name: str, sweeps: list[Sweep], parameters: list[Parameter], **facts: Any) -> Benchmark:
    level, short = name.split(".")
    time = Metric(
        name="time_s",
        unit="s",
        better="lower",
        quantity="time",
        definition="global",
        label="time",
        role="result",
    )
    given: dict[str, Any] = {
        "title": short,
        "family": short,
        "summary": f"measures {short}",
        "source": f"{level}/{short}.cpp",
        "specification": f"{level}/{short}.md",
        "available": True,
        "reason": "",
        "metrics": [time],
    }
    return Benchmark(name=name, sweeps=sweeps, parameters=parameters, **{**given, **facts})


def bytes_parameter() -> Parameter:
    return Parameter(
        name="message_bytes",
        type="integer",
        unit="B",
        default=1024,
        minimum=0,
        maximum=1 << 30,
        label="message size",
        role="size",
        meaning="payload",
    )


def mode_parameter() -> Parameter:
    return Parameter(
        name="mode",
        type="choice",
        unit="",
        default="standard",
        choices=["standard", "synchronous", "ready"],
        label="mode",
        role="call",
        meaning="mode",
    )


@pytest.fixture
def benchmarks() -> Catalog:
    latency = "ranks=2 transport=default,tcp mode=standard message_bytes=0,1Ki,1Mi"
    return Catalog(
        [
            describe(
                "algorithm.cannon", [Sweep(module="baseline", cases="ranks=1,4")], [], ranks=Ranks(square=True)
            ),
            describe(
                "mpi.barrier",
                [Sweep(module="baseline", cases="ranks=2,4"), Sweep(module="standard", cases="ranks=powers,16")],
                [],
                ranks=Ranks(minimum=2),
            ),
            describe(
                "mpi.gone",
                [Sweep(module="baseline", cases="ranks=2")],
                [],
                available=False,
                reason="needs a library",
            ),
            describe(
                "mpi.latency",
                [Sweep(module="baseline", cases=latency)],
                [bytes_parameter(), mode_parameter()],
                ranks=Ranks(minimum=2, maximum=2),
            ),
        ]
    )
