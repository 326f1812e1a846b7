"""What a mix of jobs may ask for, and how its jobs get slots."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcscope.errors import UsageError
from hpcscope.programs.throughput import mix as mixes
from hpcscope.programs.throughput.rounds import Slots
from hpcscope.programs.throughput.starting import processor_time
from tests.messages import mentions

MIX = """
name = "department"
[[job]]
benchmark = "application.cfd n=64"
ranks = 2
weight = 3
[[job]]
name = "waves"
program = "./waves --points '20 00'"
check = "grep -q converged"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "mix.toml").write_text(MIX)
    return tmp_path / "mix.toml"


def test_a_wrong_value_that_an_option_replaces_is_named_all_the_same(file: Path) -> None:
    file.write_text(f"rounds = 0\n{MIX}")
    with pytest.raises(UsageError, match=r"mix\.toml: rounds = 0: "):
        mixes.read(file, {"rounds": 2})


def test_a_mix_is_read_and_what_is_written_is_read_back(file: Path) -> None:
    mix = mixes.read(file, {"rounds": 2, "seed": None})
    assert [(one.name, one.ranks, one.weight) for one in mix.job] == [("application.cfd", 2, 3), ("waves", 1, 1)]
    assert (mix.rounds, mix.job[1].program) == (2, ["./waves", "--points", "20 00"])
    assert mix.words == (
        "3 x application.cfd: application.cfd n=64 on 2 ranks + 1 x waves: ./waves --points '20 00' on 1 rank"
    )
    file.write_text(mixes.write(mix))
    assert mixes.read(file) == mix


REFUSED = {
    "": "job: ... [[job]]",
    "job = 3": "job = 3: ",
    "[[job]]": "job: benchmark, program: ",
    "[[job]]\nprogram = 'a'\nbenchmark = 'b'": "benchmark, program: ",
    '[[job]]\nprogram = "it\'s"': "program = ... : ... quotation",
    "[[job]]\nprogram = 'a'\nranks = 0": "job.0.ranks = 0: ... 1",
    "[[job]]\nprogram = 'a'\nranks = true": "job.0.ranks = true: ",
    "[[job]]\nprogram = 'a'\nweight = 1001": "job.0.weight = 1001: ... 1000",
    "[[job]]\nprogram = 'a'\nlimit_s = nan": "limit_s",
    "[[job]]\nprogram = 'a'\nname = '../x'": 'job.0.name = "../x"',
    "[[job]]\nprogram = 'a'\nwieght = 2": "weight?",
    "[[job]]\nprogram = 'a'\n[[job]]\nprogram = '/bin/a'": "job.name = a: ",
    "[[job]]\nprogram = ['a\\u0000']": "U+0000",
    "rounds = 0\n[[job]]\nprogram = 'a'": "rounds = 0",
    "time_s = inf\n[[job]]\nprogram = 'a'": "time_s",
    "[launcher]\nhost = ['a']\n[[job]]\nprogram = 'a'": "hosts?",
    "".join(f"[[job]]\nname = 'j{n}'\nprogram = 'a'\nweight = 1000\n" for n in range(11)): "11000 jobs",
}


@pytest.mark.parametrize(("text", "said"), REFUSED.items(), ids=range(len(REFUSED)))
def test_nonsense_is_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mix.toml"
    file.write_text(text.replace("['a\\u0000']", '["a\\u0000"]'))
    with pytest.raises(UsageError) as refused:
        mixes.read(file)
    assert str(refused.value).startswith(f"{file}: ")
    assert mentions(str(refused.value), said)
    assert "\n" not in str(refused.value)


def test_a_job_gets_the_fullest_host_that_has_room_else_few_hosts() -> None:
    slots = Slots([4, 2, 3])
    assert slots.take(2) == [0, 2, 0]
    assert slots.take(2) == [0, 0, 2]
    assert slots.take(5) == [4, 0, 1]
    assert slots.take(1) is None
    slots.give_back([0, 2, 0])
    assert slots.take(3) is None
    assert slots.take(2) == [0, 2, 0]


def test_processor_time_is_known_where_every_rank_says_it() -> None:
    printed = "noise scope-times 0m0.25s 0m0.05s\nscope-times 1m0.500000s 0m0.000000s\n"
    assert processor_time(printed, 2) == pytest.approx(60.8)
    assert processor_time(printed, 3) is None
    assert processor_time("scope-times 0m0,25s 0m0,05s\n", 1) is None, "the shell is told to print a point"
