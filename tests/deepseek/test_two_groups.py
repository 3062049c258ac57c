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
    few = group.best_of("h100-sxm", 32, 50)
    assert less.room(50) == pytest.approx(few.batch, abs=0.1)


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
