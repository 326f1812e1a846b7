"""A registry as the native program would give it, small and made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from scope.build.registry import BenchmarkDescription, MetricDescription, ParameterDescription, Sweep


def describe(
    name: str, sweeps: list[Sweep], parameters: list[ParameterDescription], **facts: Any
) -> BenchmarkDescription:
    level, short = name.split(".")
    given: dict[str, Any] = {
        "summary": f"measures {short}",
        "source": f"{level}/{short}.cpp",
        "specification": f"{level}/{short}.md",
        "available": True,
        "reason": "",
        "minimum_ranks": 1,
        "maximum_ranks": None,
        "rank_rule": "any",
        "metrics": [
            MetricDescription(name="time_s", unit="s", better="lower", quantity="time", definition="global")
        ],
    }
    return BenchmarkDescription(name=name, sweeps=sweeps, parameters=parameters, **{**given, **facts})


def bytes_parameter() -> ParameterDescription:
    return ParameterDescription(
        name="message_bytes",
        type="integer",
        unit="bytes",
        default=1024,
        minimum=0,
        maximum=1 << 30,
        meaning="payload",
    )


def mode_parameter() -> ParameterDescription:
    modes = ["standard", "synchronous", "ready"]
    return ParameterDescription(
        name="mode", type="choice", unit="", default="standard", choices=modes, meaning="mode"
    )


@pytest.fixture
def benchmarks() -> list[BenchmarkDescription]:
    return [
        describe("algorithm.cannon", [Sweep(module="baseline", cases="ranks=squares")], [], rank_rule="square"),
        describe(
            "mpi.barrier",
            [Sweep(module="baseline", cases="ranks=all"), Sweep(module="standard", cases="ranks=powers,16")],
            [],
            minimum_ranks=2,
        ),
        describe(
            "mpi.gone", [Sweep(module="baseline", cases="ranks=2")], [], available=False, reason="needs a library"
        ),
        describe(
            "mpi.latency",
            [
                Sweep(
                    module="baseline", cases="ranks=2 transport=default,tcp mode=standard message_bytes=0,1Ki,1Mi"
                )
            ],
            [bytes_parameter(), mode_parameter()],
            minimum_ranks=2,
            maximum_ranks=2,
        ),
    ]
