"""If loads of experts scatter: fewer on a GPU even out less, and what follows."""

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.deployments import SGLANG_DECODE
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import decisions
from llmserve_lab.deepseek.evaluation.group_size import fits_as_served
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page import answers, group
from tests.deepseek.twins import twin
from tests.each import live, rows
from tests.page import drawn
from tests.page.plotted import plotted

HELD = {16: 18, 32: 9, 72: 4, 144: 2, 256: 1}  # experts on a GPU, copies included


def drawn_balance(held: int, gpus: int, spread: float) -> float:
    """Mean over busiest load of groups whose experts' loads are drawn, many times."""
    draws = np.random.default_rng(3).normal(1, spread, (4000, gpus, held))
    return float(1 / draws.mean(axis=2).max(axis=1).mean())


def test_the_balance_of_a_group_is_that_of_loads_drawn_at_random() -> None:
    """With the spread at which nine on each of 32 GPUs come out as measured."""
    spread = next(
        s for s in np.arange(0.2, 0.6, 0.002) if drawn_balance(9, 32, s) < 0.7792
    )
    for ep, held in HELD.items():
        found = drawn_balance(held, ep, spread)
        assert decisions.balance_of(ep) == pytest.approx(found, abs=0.012)
        assert decisions.balance_with(held, ep) == decisions.balance_of(ep)


def test_without_redundant_experts_the_smaller_group_evens_out_less() -> None:
    assert decisions.balance_of(32, lean=True) < decisions.balance_of(32)
    assert decisions.balance_of(32, lean=True) == decisions.balance_with(8, 32)
    assert decisions.balance_of(72, lean=True) == decisions.balance_of(72)
    with pytest.raises(ValueError, match="held must be positive, got 0"):
        decisions.balance_with(0, 32)


def best(ep: int, tpot_s: float, **changes: object) -> float:
    """The best rate at a target, every batch tried."""
    made = 0.0
    for way in ("none", "halves"):
        one = twin(setup("h100-sxm", ep), overlap=way, **changes)
        n = np.arange(1, fits_as_served(one, 4000.0) + 1)
        step_s = np.asarray(one.step_s(batch=n, context=4000.0))
        made = max(made, float((n / step_s)[step_s <= tpot_s].max(initial=0.0)))
    return made


@pytest.mark.parametrize("target", group.TARGETS)
def test_the_dashed_line_is_the_best_batch_with_the_balance_of_its_group(
    target: str,
) -> None:
    lines = [line.split(",") for line in group.csv_lines()]
    head, *points = lines
    chosen = f"{list(group.TARGETS).index(target)}"
    seen = [dict(zip(head, point, strict=True)) for point in points]
    of = {int(r["g"]): r for r in seen if (r["c"], r["t"]) == ("0", chosen)}
    for ep, held in HELD.items():
        copies = 0 if ep == 256 else 32
        balance = decisions.balance_with(held, ep)
        made = best(ep, group.TARGETS[target], balancedness=balance, n_redundant=copies)
        assert float(of[ep]["s"]) == pytest.approx(made, abs=0.51)


def test_the_dashed_line_is_that_of_the_chosen_target_and_named() -> None:
    figure = live("deepseek.group_size")
    for target in group.TARGETS:
        seen = {
            round(y)
            for _, _, y, item in plotted(figure, "line", target=target)
            if item.get("strokeDash")
        }
        made = (group.scattered_at(group.OPENS, target, ep) for ep in group.GROUPS)
        assert seen == {round(rate) for rate in made}
    words = [m["text"] for m in drawn.marks(figure, "text") if m.get("text")]
    assert words.count(group.SCATTERED) == 1


def loose_rates(held: str, target: str) -> list[float]:
    return [group.scattered_at(held, target, ep) for ep in ("32", "72", "144", "256")]


@pytest.mark.parametrize("held", group.HELD)
def test_at_fifty_milliseconds_each_larger_group_makes_less_if_loads_scatter(
    held: str,
) -> None:
    """The figure's title, with both holdings; the solid line hardly grows."""
    made = loose_rates(held, "50 ms")
    assert made == sorted(made, reverse=True) and made[-1] < 0.85 * made[0]
    found = (group.at(held, "50 ms", ep) for ep in ("32", "72", "144", "256"))
    solid = [each.tokens_per_s for each in found if each]
    ahead = [rate / solid[0] for rate in solid]
    assert all(1 < more < 1.12 for more in ahead[1:])


@pytest.mark.parametrize("target", group.TARGETS)
def test_beyond_72_gpus_the_dashed_line_gains_nothing(target: str) -> None:
    _, enough, *more = loose_rates(group.OPENS, target)
    assert max(more) < enough


def test_scattered_loads_make_every_wide_run_worse_predicted() -> None:
    """As each was run, with only the balance changed; even routing is left out."""
    found = decisions.rescored()
    gpus = sorted(record.n_gpus for record in found)
    assert gpus == [72, 72, 96, 144]
    for as_run, loose in found.values():
        assert abs(loose) > abs(as_run) + 0.05 and loose < -0.09
    opening = found[SGLANG_DECODE]
    assert [round(100 * error) for error in opening] == [-9, -18]


def test_one_expert_on_a_gpu_makes_less_than_four_if_loads_scatter() -> None:
    """The colleague's group of 256 at fifty milliseconds: more, or a sixth less."""
    even = [group.best_of("h100-sxm", ep, 50).tokens_per_s for ep in (72, 256)]
    loose = [group.scattered_at(group.OPENS, "50 ms", ep) for ep in ("72", "256")]
    assert 1.03 < even[1] / even[0] < 1.06
    assert 0.82 < loose[1] / loose[0] < 0.86


def test_the_opening_s_answers_with_scattered_loads() -> None:
    """Of each group the best of both schedules; a group twice as large makes less."""
    table = answers.opening()
    made = []
    for row in rows(table):
        ep, n = int(row["GPUs"]), int(row["requests"])
        balance = decisions.balance_of(ep)
        ways = [
            twin(setup("h100-sxm", ep), overlap=way, balancedness=balance)
            for way in ("none", "halves")
        ]
        steps = [float(way.step_s(batch=n, context=2000.0)) for way in ways]
        shown = float(row["loads scatter"].replace(",", ""))
        assert shown == pytest.approx(n / min(steps), rel=5e-3)
        fast = float(row["twice, loads scatter"].replace(",", ""))
        slowest = 1 / answers.twice_s()
        kept = [way.batch_at(slowest, context=2000.0) for way in ways]
        both = [
            m / float(way.step_s(batch=m, context=2000.0))
            for m, way in zip(kept, ways, strict=True)
            if m
        ]
        assert fast == pytest.approx(max(both), rel=5e-3)
        made.append((shown, fast))
    assert made[2] < made[1] and made[2][1] < made[1][1] < made[0][1]
    assert book_assumptions().balancedness == pytest.approx(decisions.balance_of(32))
