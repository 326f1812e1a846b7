"""How many runs of known truth a test draws."""

from __future__ import annotations

import pytest


def draws(few: int, many: int) -> pytest.MarkDecorator:
    """Give a test a number of `draws`: a few for `make test`, many for what share of them it promises."""
    rest = pytest.mark.slow("draws more of the same runs; `make test` keeps the first of them, and the bounds")
    return pytest.mark.parametrize("draws", [few, pytest.param(many, marks=rest)])
