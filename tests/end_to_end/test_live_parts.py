"""The live figure, part by part: two loops counted pass by pass."""

import math
from functools import cache

import pytest

from llmserve_lab.end_to_end.page import figures
from llmserve_lab.formula.text import si
from llmserve_lab.page.live.figure import LiveFigure
from tests.end_to_end.test_drawn import ATTENTION, FFN, KAPPA, LAYERS, PAIR, TABLE
from tests.page import plotted


# The live figure.
@cache
def live() -> LiveFigure:
    return figures.again_or_once()


def flops(prompt: int, answer: int, *, cached: bool) -> float:
    """Pass by pass: rows through the blocks, one through the LM head, and pairs."""
    total = 0
    for done in range(answer):
        seen_ = prompt + done
        rows = 1 if cached and done else seen_
        pairs = sum(range(seen_ - rows + 1, seen_ + 1))
        total += 2 * (LAYERS * (ATTENTION + FFN) * rows + TABLE) + PAIR * pairs
    return float(total)


def test_each_line_of_the_two_loops_and_what_stands_between() -> None:
    inks = plotted.called(live())
    assert inks["recomputed each time"] == "vermillion"
    assert inks["with a cache"] == "green"
    lines = plotted.lines(live())
    for ink, cached in (("vermillion", False), ("green", True)):
        for tokens, found in lines[ink][5::5]:
            ends = math.floor(tokens), math.ceil(tokens)
            less, more = (flops(1000, end, cached=cached) for end in ends)
            assert 0.97 * less < found < 1.03 * more
    for answer in (200, 700):
        again, once = (flops(1000, answer, cached=c) for c in (False, True))
        changes = {"new_tokens": float(answer)}
        ((ink, at, top, rule),) = plotted.plotted(live(), "rule", **changes)
        assert (ink, round(at)) == ("ink", answer)
        assert sorted([top, rule["y2_at"]]) == pytest.approx([once, again], rel=0.02)
        assert f"{again / once:.3g} times fewer" in plotted.called(live(), **changes)
    assert "no saving" in plotted.called(live(), new_tokens=1.0)


@pytest.mark.parametrize(("prompt", "answer"), [(1000, 200), (100, 900), (2000, 1)])
def test_each_readout_of_the_two_loops_and_its_sentence(
    prompt: int, answer: int
) -> None:
    size = {"prompt_len": float(prompt), "new_tokens": float(answer)}
    lengths = [prompt + done for done in range(answer)]
    again, once = (flops(prompt, answer, cached=c) for c in (False, True))
    held = KAPPA * lengths[-1]
    want = {
        "Times fewer FLOPs with a cache": again / once,
        "Times fewer rows": sum(lengths) / lengths[-1],
        "Times fewer query–key pairs": sum(n * (n + 1) // 2 for n in lengths)
        / (lengths[-1] * (lengths[-1] + 1) // 2),
        "The cache holds in the end": held,
    }
    known = live().values(**size)
    assert {r.label: known[r.name] for r in live().readouts} == pytest.approx(
        want, rel=1e-4
    )
    out = live().caption(**size)
    plural = "s" if answer > 1 else ""
    assert out.startswith(
        f"Llama-3.1-8B, a prompt of {prompt} tokens, {answer} token{plural} to generate"
    )
    assert f"in each pass takes {si(again, 'FLOP')}" in out
    assert f"with a cache the FLOPs are {si(once, 'FLOP')}" in out
    assert f"differ by a factor of {si(again / once)}" in out
    assert f"the cache holds {si(held, 'byte')} in the end" in out


def test_the_goal_is_met_where_the_cache_saves_less_than_half() -> None:
    goal = live().goal
    assert goal is not None and "saves less than half of the work" in str(goal.sentence)
    for prompt, answer in ((1000, 1), (1000, 2), (100, 3), (2000, 10)):
        again, once = (flops(prompt, answer, cached=c) for c in (False, True))
        known = live().values(prompt_len=float(prompt), new_tokens=float(answer))
        assert goal.met(known) == (again - once < again / 2)


def test_the_larger_model_has_its_own_numbers() -> None:
    """80 blocks, 8,192 wide, 64 query heads and 8 of keys and values, 28,672 inside."""
    known = live().values(model="Llama-3.1-70B")
    block = 2 * 8192 * 128 * (64 + 8) + 3 * 8192 * 28_672
    rows = sum(1000 + done for done in range(200))
    pairs = sum(n * (n + 1) // 2 for n in range(1000, 1200))
    want = 2 * 80 * block * rows + 2 * 128_256 * 8192 * 200
    want += 4 * 80 * 64 * 128 * pairs
    assert known["recompute_flops"] == pytest.approx(want, rel=1e-4)
    assert known["kv_held_bytes"] == 1199 * 2 * 80 * 8 * 128 * 2
