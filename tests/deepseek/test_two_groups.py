"""Two groups by hand: two lines, where they meet, and what a target admits."""

import pytest

from llmserve_lab.deepseek.evaluation import decisions
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.group_size import fits_as_served
from llmserve_lab.deepseek.model.setup import SETUPS, setup
from llmserve_lab.deepseek.page import group
from tests.deepseek.twins import twin

H100 = SETUPS["9 × 8 H100"]


def test_the_lines_of_two_groups_meet_where_their_steps_do() -> None:
    """Walked by the whole twin; from there on the smaller group is nearly full."""
    less, more = (worked.line(ep, 4000.0) for ep in (32, 72))
    alone = [twin(setup("h100-sxm", ep), overlap="none") for ep in (32, 72)]
    meet = next(
        n
        for n in range(1, 200)
        if alone[0].step_s(batch=n, context=4000)
        < alone[1].step_s(batch=n, context=4e3)
    )
    assert less.meets(more) == pytest.approx(meet, abs=1.5)
    assert more.at(less.meets(more)) == pytest.approx(61.6, abs=0.1)
    assert meet <= fits_as_served(alone[0], 4000.0) <= meet + 3
    assert less.at(less.meets(more)) == pytest.approx(more.at(less.meets(more)))
    assert meet > worked.fewest(4000.0)  # so that nobody runs one batch there
    few = group.best_of("h100-sxm", 32, 50)
    assert less.room(50) == pytest.approx(few.batch, abs=0.1)


def test_in_the_faster_schedule_the_lines_of_two_groups_never_meet() -> None:
    """Every batch that fits on the smaller group; its halves would pay beyond it."""
    fits = fits_as_served(twin(setup("h100-sxm", 32), overlap="none"), 4000.0)
    best = {}
    for ep in (32, 72):
        ways = [twin(setup("h100-sxm", ep), overlap=way) for way in ("none", "halves")]
        best[ep] = [
            1e3 * min(float(one.step_s(batch=n, context=4000)) for one in ways)
            for n in range(1, fits + 1)
        ]
    assert all(many < few for few, many in zip(best[32], best[72], strict=True))
    assert fits < worked.fewest(4000.0, 32)


@pytest.mark.parametrize(("ep", "pays"), [(32, 120), (72, 81), (144, 69)])
def test_halves_pay_later_in_a_smaller_group(ep: int, pays: int) -> None:
    """Walked with either context; by hand within six of a hundred."""
    for context in (2000.0, 4000.0):
        ways = [twin(setup("h100-sxm", ep), overlap=way) for way in ("none", "halves")]
        first = next(
            n
            for n in range(1, 256)
            if ways[1].step_s(batch=n, context=context)
            < ways[0].step_s(batch=n, context=context)
        )
        assert first == worked.fewest(context, ep) == pays
    assert worked.break_even(ep).requests == pytest.approx(pays, rel=0.06)


def test_what_a_larger_group_saves_and_pays_is_reading_and_wire() -> None:
    """By hand: five experts at the rate of reading; copies that leave, at the port."""
    less, more = (worked.line(ep, 4000.0) for ep in (32, 72))
    read = 5 * 58 * 3 * 7168 * 2048 / 2.8686e12 * 1e3
    copies = 8 * 58 * (3 * 7168 + 224) / 0.7792 / 44.49e9 * 1e3
    wire = copies * (8 / 9 - 3 / 4)
    small, large = (worked.break_even(ep) for ep in (32, 72))
    assert small.reading - large.reading == pytest.approx(read, rel=2e-3)
    assert large.wire - small.wire == pytest.approx(wire, rel=2e-3)
    saved, paid = less.always_ms - more.always_ms, more.each_ms - less.each_ms
    assert 0.95 < read / saved < 1 and 0.75 < wire / paid < 0.9


@pytest.mark.parametrize("error", [-0.2034, 0.0, 0.2314])
def test_a_target_admits_what_each_schedule_keeps(error: float) -> None:
    found = worked.within_target(4000.0, 50, error)
    tried = []
    for way in ("none", "halves"):
        one = twin(H100, overlap=way)
        real = [
            1e3 * float(one.step_s(batch=n, context=4000)) / (1 + error)
            for n in range(1, 150)
        ]
        kept = [n for n, ms in enumerate(real, 1) if ms <= 50]
        n = max(kept, default=0)
        tried += [n, 1e3 * n / real[n - 1] if n else 0.0]
    made = (found.one_batch, found.one_batch_rate, found.halves, found.halves_rate)
    assert made == pytest.approx(tuple(tried))
    assert found.predicted_ms == pytest.approx(50 * (1 + error))


def test_every_group_of_the_figure_divides_its_experts() -> None:
    for ep in group.GROUPS.values():
        place = setup("h100-sxm", ep)
        for most in (0, 32):
            copies = place.redundant(most)
            assert (256 + copies) % ep == 0 and 0 <= copies <= 32
        assert place.redundant(32) == (0 if ep == 256 else 32)
    assert [setup("h100-sxm", ep).redundant(32) for ep in (64, 128)] == [0, 0]


@pytest.mark.parametrize("kept", [0.6, 0.85])
def test_what_a_draft_gains_is_tokens_a_step_over_a_step_of_more_rows(
    kept: float,
) -> None:
    """At sixty per cent kept it costs on the standing example, at 85 it pays."""
    size = {"batch": 256, "context": 2000}
    drafting = twin(H100, overlap="halves", n_draft=1, accepted=1 + kept)
    steps = [float(each.step_s(**size)) for each in (drafting, twin(H100))]
    gain = (1 + kept) * steps[1] / steps[0] - 1
    assert decisions.drafting_gain(kept) == pytest.approx(gain)
    assert (gain > 0) == (kept > 0.8)
