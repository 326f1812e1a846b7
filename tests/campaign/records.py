"""Runs that never were: records whose figures follow a law that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from hpcscope.programs.campaign.record import RunRecord
from hpcscope.programs.campaign.study import Value

Figures = Callable[[Mapping[str, Value], np.random.Generator], dict[str, float]]


def record(number: int, figures: Mapping[str, float], **chosen: Value) -> RunRecord:
    """One run that ended well; `chosen` are its factors and parameters."""
    own = {name: chosen.pop(name) for name in ("ranks", "placement", "transport") if name in chosen}
    return RunRecord.model_validate(
        {
            "number": number,
            "repetition": 1,
            "parameters": chosen,
            **own,
            "status": "ok",
            "exit_code": 0,
            "started_unix_s": 1000.0 + 10 * number,
            "elapsed_s": figures.get("wall_s", 1.0) + 0.1,
            "user_s": 1.0,
            "system_s": 0.1,
            "features": dict(figures),
        }
    )


def study(
    points: list[dict[str, Value]], figures: Figures, repetitions: int = 6, seed: int = 1
) -> list[RunRecord]:
    """Each point several times, with the figures that `figures` draws for it."""
    random = np.random.default_rng(seed)
    chosen = [point for _ in range(repetitions) for point in points]
    return [record(number, figures(point, random), **point) for number, point in enumerate(chosen, 1)]
