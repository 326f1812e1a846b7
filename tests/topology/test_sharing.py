from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hpcscope.topology.sharing import Resources, Transfer, predicted_rates
from tests.topology.test_topology_file import GOOD, from_text


def test_shares_are_max_min_fair() -> None:
    # Bertsekas & Gallager, example of sec. 6.5.2 in spirit: what one link leaves over goes to the others.
    resources = Resources()
    resources.add([("a", 1.0)])
    resources.add([("a", 1.0), ("b", 3.0)])
    resources.add([("b", 3.0)])
    resources.add([("c", 7.0)])
    assert resources.shares() == pytest.approx([0.5, 0.5, 2.5, 7.0])


def test_a_transfer_gets_the_least_of_what_it_uses(tmp_path: Path) -> None:
    topology = from_text(tmp_path, GOOD)

    def rates(*pairs: tuple[str, str]) -> np.ndarray:
        return predicted_rates(topology, [Transfer(a, b) for a, b in pairs])

    assert rates(("hpc1", "hpc2")) == pytest.approx([11.9e6])
    assert rates(("hpc1", "hpc2"), ("hpc2", "hpc1")) == pytest.approx([11.9e6, 11.9e6])
    assert rates(("giza1", "giza3")) == pytest.approx([1.2e6])  # the exception's port
    assert rates(("giza1", "giza3"), ("giza3", "giza1")) == pytest.approx([1.2e6, 1.2e6])  # 2.4e6 shared
    assert rates(("hpc1", "giza1")) == pytest.approx([1e6])
    assert rates(("hpc1", "giza1"), ("giza3", "hpc2")) == pytest.approx([0.5e6, 0.5e6])  # half duplex
    # Of the bus's 2.4e6 the uplink's two transfers take 1e6; of the rest the slow port lets 1.2e6 through.
    both = rates(("hpc1", "giza1"), ("giza3", "hpc2"), ("giza1", "giza3"))
    assert both == pytest.approx([0.5e6, 0.5e6, 1.2e6])
    assert rates(("hpc1", "hpc1")) == pytest.approx([8e9])
