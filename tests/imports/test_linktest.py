"""LinkTest: times of all pairs and of single ones, by a writer of its lines whose times are known."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from hpcscope.errors import UsageError
from hpcscope.exchange import imports
from hpcscope.exchange.imports.lines import lines
from tests.imports.reading import data, read

ALL, PAIR = "network.linktest", "network.linktest_pair"
US = 1e-6
AGAIN = "slowest pairs again"
Times = dict[tuple[int, int], float]
"""Microseconds of pairs."""


def _rate(time: float, size: int) -> str:
    return f"{size / time / 1.048576:7.2f} MB/s"


def _results(times: list[float], mean: float, size: int, again: str, iteration: int) -> list[str]:
    values = {"Min": min(times), "Max": max(times), "Avg": mean}
    return [
        f"{f'RESULT: {key} Time{again}:':<29}{value:20.8f}us ({_rate(value, size)}) [iter {iteration:2d} ]"
        for key, value in values.items()
    ]


def _about(ranks: int, size: int, serial: bool, slowest: int) -> list[str]:
    numbers = {"Number of MPI-Task": ranks, "Current Rank MPI-Task": 0, "Message length": f"{size:10d} Bytes"}
    numbers |= {"Number of Iteration": 4, "Number of Iter. (Warmup)": 1, "alltoall": 0}
    numbers |= {"serial test": int(serial), "control wtime": "-1.000000", "max stest": slowest}
    return [
        "timings[000] [first sync]                   t=  0.000420s",
        "-" * 58,
        *(f"linktest: {key + ':':<24} {value:>10}" for key, value in numbers.items()),
        "-" * 58,
        "task[000000] on node1 (0,0,0,0) mem=    0.0168 MB ",
        "Starting Test of all connections:",
        "PE00000: psum=11 pasum=11 do_mix=0",
        " ... after getpartnerplan_pe",
    ]


def output(rounds: list[tuple[Times, Times]], ranks: int, size: int, serial: bool, late: bool = False) -> str:
    """Return what LinkTest prints for times of all pairs and, later, of the slowest; `late`: pairs at the end."""
    written, pairs = _about(ranks, size, serial, len(rounds[0][1])), []
    for iteration, (first, second) in enumerate(rounds, 1):
        times = list(first.values())
        mean = sum(times) / len(times)
        step = f"avg={mean:10.3f}us ({_rate(mean, size)}) min={min(times):10.3f}us ({_rate(min(times), size)})"
        own = [f" {a:6d}->{b:6d}:{time:12.5f}us ({_rate(time, size)}) (l={a})" for (a, b), time in first.items()]
        if serial:
            written += [" Serial   PingPong for step     1: ", *([] if late else own), f"  {step}"]
            pairs += own if late else []
        else:
            written.append(f" Parallel PingPong for step     1:   {step}")
        written += _results(times, mean, size, "", iteration)
        written.append(" 000: starting collect for stride       1")
        for place, ((a, b), time) in enumerate(second.items()):
            ends = (
                f"{first[a, b]:10.4f}us ({_rate(first[a, b], size)})    2nd: {time:10.4f}us ({_rate(time, size)})"
            )
            written.append(f" {place:6d}: PINGPONG {a:6d}  <->  {b:6d}:  1st: {ends}")
        again = list(second.values())
        written += _results(again, sum(again) / ranks, size, " Stest", iteration)
        if iteration < len(rounds):
            written.append(
                f"LINKTEST[{iteration:2d}]: end test not reached: control_wtime=     -1.00s, niter=1<=2"
            )
    return "\n".join([*written, "timings[000] [all]                          t=  0.262412s", *pairs]) + "\n"


@pytest.mark.parametrize("seed", range(24))
def test_what_was_written_is_read(seed: int) -> None:
    chance = random.Random(seed)
    ranks, size, serial, late = chance.choice((4, 6, 8)), chance.choice((8, 131072)), seed % 2 == 1, seed % 4 > 1
    slowest = chance.randrange(1, ranks + 1)
    rounds: list[tuple[Times, Times]] = []
    for _ in range(chance.randrange(1, 3)):
        first = {pair: round(chance.uniform(1, 900), 4) for pair in permutations(range(ranks), 2)}
        pairs = sorted(first, key=lambda pair: -first[pair])[:slowest]
        rounds.append((first, {pair: round(chance.uniform(1, 900), 4) for pair in pairs}))
    found = read("linktest", output(rounds, ranks, size, serial, late))
    assert found.unread == []
    test = "serial" if serial else "parallel"
    whole = [one for one in found.figures(ALL, "time_s") if one.parameters["test"] == test]
    assert [one.values[0] for one in whole] == [
        pytest.approx(sum(first.values()) / len(first) * US) for first, _ in rounds
    ]
    assert [one.beside["maximum"] for one in whole] == [
        pytest.approx(max(first.values()) * US) for first, _ in rounds
    ]
    means = [one for one in found.figures(ALL, "time_s") if one.parameters["test"] == AGAIN]
    truth = [sum(second.values()) / ranks * US for _, second in rounds] if slowest == ranks else []
    assert [one.values[0] for one in means] == [pytest.approx(one) for one in truth]
    assert (
        "LinkTest: the mean of the slowest pairs is left out: LinkTest miscomputes it" in found.reading.differences
    ) == (slowest != ranks)
    said: dict[str, list[tuple[tuple[int, int], float]]] = {test: [], AGAIN: []}
    for one in found.figures(PAIR, "time_s"):
        assert (one.ranks, one.repetitions, one.parameters["message_bytes"]) == (ranks, 4, size)
        ends = int(one.parameters["sender"]), int(one.parameters["receiver"])
        said[str(one.parameters["test"])].append((ends, one.values[0]))
    again = [pair for _, second in rounds for pair in second.items()]
    alone = [(pair, first[pair]) for first, second in rounds for pair in (first if serial else second)]
    assert said == {
        test: [(pair, pytest.approx(time * US)) for pair, time in alone],
        AGAIN: [(pair, pytest.approx(time * US)) for pair, time in again],
    }


def test_all_pairs_and_the_slowest() -> None:
    found = read("linktest", data("linktest-1.2.txt"))
    together, again = found.figures(ALL, "time_s")
    assert (together.values, together.beside) == ((12.5e-6,), {"minimum": 4.25e-6, "maximum": 20.75e-6})
    assert (together.parameters["message_bytes"], together.parameters["messages"], together.ranks) == (1024, 20, 4)
    assert (again.values, again.parameters["test"]) == ((5e-6,), AGAIN)
    first, second = found.figures(PAIR, "time_s")[:2]
    assert (first.values, first.parameters["test"]) == ((20.75e-6,), "parallel")
    assert (second.values, second.parameters["test"], second.line) == ((5.5e-6,), AGAIN, first.line)
    assert found.reading.hosts == ["node1", "node2"]
    assert found.reading.differences == ["LinkTest: values of single steps are left out"]


def test_pairs_of_another_run_are_refused() -> None:
    """Below `srun --label`, the lines of a rank follow those of another one: those of two runs meet."""
    run = data("linktest-1.2-serial.txt")
    pairs = "".join(row for row in run.splitlines(keepends=True) if "->" in row and "<->" not in row)
    found = read("linktest", run + pairs)
    assert found.reading.figures == []
    assert "which print pairs twice" in found.reading.refused[0]


def test_times_without_their_settings_are_not_read() -> None:
    text = data("linktest-1.2.txt").replace("Message length", "Message")
    found = read("linktest", text)
    assert found.reading.figures == []
    assert [row for row in found.unread if row.startswith("RESULT: Avg")]


def test_no_pair_was_measured_again() -> None:
    text = data("linktest-1.2.txt")
    start, end = text.index("RESULT: Min Time Stest"), text.index("timings[000] [test_slow]")
    none = "".join(
        f"RESULT: {key} Time Stest:      {sign}99999999999999987584860160.00000000us (   0.00 MB/s) [iter  1 ]\n"
        for key, sign in (("Min", ""), ("Max", "-"))
    )
    found = read(
        "linktest",
        text[:start].replace("max stest:                 4", "max stest:                 0") + none + text[end:],
    )
    assert {one.parameters["test"] for one in found.figures(ALL, "time_s")} == {"parallel"}
    assert found.unread == []


def test_version_2_is_refused_by_name() -> None:
    row = "Aggregated Results: min:   11.5 us (   21.1 GiB/s) avg:   11.6 us (   20.8 GiB/s) max:   12.0 us"
    with pytest.raises(UsageError, match=r"LinkTest 2 is not read: .* message size and the number of ranks"):
        imports.format_of("linktest").claims(lines(f"{row} (   20.3 GiB/s) avg. bisection bw:    83.5 GiB/s\n"))
