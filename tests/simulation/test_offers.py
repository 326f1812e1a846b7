"""Offers side by side: how the file is read, what counts as a gain, and offers that are really simulated."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.catalog.declared import declared
from hpcscope.engine.simulate import offers as engine
from hpcscope.engine.simulate import simulate
from hpcscope.engine.simulate.request import SimulateOptions
from hpcscope.errors import UsageError
from hpcscope.findings.results import Run
from hpcscope.report.run.simulation_tables import OFFERS
from hpcscope.simulation import offers
from hpcscope.simulation.gains import gains
from hpcscope.statistics.summary import Summary
from tests.messages import mentions

ONE = '[[offer]]\nname = "{}"\ncost = 10.0\nset = {{ "host.speed" = {} }}\n'

REFUSED = {
    "": "offer: ",
    "offer = []": "offer",
    '[[offer]]\nname = "a"\ncost = 1.0\n': "a: ... set ... hosts ... topology",
    '[[offer]]\nname = "../a"\ncost = 1.0\nhosts = 4\n': "offer.0.name",
    '[[offer]]\nname = "a"\ncost = 0.0\nhosts = 4\n': "offer.0.cost = 0.0: ... 0",
    '[[offer]]\nname = "a"\ncost = inf\nhosts = 4\n': "offer.0.cost",
    '[[offer]]\nname = "a"\ncost = 1.0\nhosts = true\n': "offer.0.hosts = true",
    '[[offer]]\nname = "a"\ncost = 1.0\nset = { "host.speed" = -1.0 }\n': "offer.0.set.host.speed = -1.0",
    '[[offer]]\nname = "a"\ncost = 1.0\nhost = 4\n': "offer.0.host = 4: ",
    ONE.format("a", 2.0) + ONE.format("a", 3.0): "offer.name = a: ",
}


@pytest.mark.parametrize(("text", "said"), REFUSED.items(), ids=range(len(REFUSED)))
def test_nonsense_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "offers.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        offers.read(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert mentions(str(refused.value), said)
    assert "\n" not in str(refused.value)


def test_an_offer_that_the_platform_cannot_have_is_named_before_anything_is_compiled(
    golden_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulate.native, "build", lambda _: pytest.fail("compiled before all offers were read"))
    file = tmp_path / "offers.toml"
    file.write_text(ONE.format("faster", 2.0) + '[[offer]]\nname = "more"\ncost = 1.0\nhosts = 4\n')
    with pytest.raises(UsageError, match=r"offers\.toml: .*more: --hosts 4: "):
        engine.simulated(golden_run, file, SimulateOptions(output=tmp_path / "made"))
    assert not (tmp_path / "made").exists()


def faster(one: Summary, factor: float, **changes: object) -> Summary:
    assert one.median
    return one.model_copy(update={"median": one.median / factor, **changes})


def test_a_problem_is_solved_on_as_many_ranks_as_are_fastest(golden_run: Path) -> None:
    catalog = declared()
    timed = [one for one in Run(golden_run).statistics if one.median and one.unit == "s"]
    barrier = next(one for one in timed if one.benchmark == "mpi.barrier")
    solved = next(one for one in timed if catalog[one.benchmark].level == "algorithm")
    before = [barrier, solved]
    # More ranks solve the same problem sooner, but a barrier of more ranks is another case.
    after = [faster(barrier, 2.0, ranks=64), faster(solved, 0.5), faster(solved, 1.5, ranks=64)]
    assert gains(after, before, catalog) == {solved.benchmark: [pytest.approx(0.5)]}
    assert gains([faster(barrier, 2.0)], before, catalog) == {"mpi.barrier": [pytest.approx(1.0)]}
    assert gains(after, [], catalog) == {}
    # More hosts that are slower together than before are no loss: nobody has to use them.
    slower = [faster(solved, 0.5, ranks=64)]
    assert gains(slower, before, catalog, only_larger=True) == {"mpi.barrier": [0.0], solved.benchmark: [0.0]}


@pytest.mark.usefixtures("quickly")
def test_offers_are_simulated_beside_one_simulation_of_the_platform_as_it_was_measured(
    golden_run: Path, tmp_path: Path
) -> None:
    file = tmp_path / "offers.toml"
    file.write_text(ONE.format("slower", 0.5) + ONE.format("faster", 4.0))
    options = SimulateOptions(only=["mpi.barrier"], output=tmp_path / "made")
    made = engine.simulated(golden_run, file, options)
    assert [one.directory.path for one in made] == [tmp_path / "made" / name for name in ("slower", "faster")]
    assert all(one.well for one in made)
    assert made[0].record.offers == made[1].record.offers
    assert not made[0].record.only_larger, "other processors are no further hosts"
    assert [(one.name, one.changes, one.figures > 0) for one in made[0].record.offers] == [
        ("slower", ["--set host.speed=0.5"], True),
        ("faster", ["--set host.speed=4"], True),
    ]
    first, second = ((one.directory.unchanged / "samples.jsonl").read_bytes() for one in made)
    assert first == second
    assert OFFERS in (made[0].directory.path / "report.html").read_text()
