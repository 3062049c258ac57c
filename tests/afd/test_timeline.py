"""The picture over the targets, lanes over time, and what was built and measured."""

from itertools import pairwise

import numpy as np
import pytest

from llmserve_lab.afd import coupled, one_sided
from llmserve_lab.afd.page import comparison, inputs, measured, pictures, timeline
from llmserve_lab.afd.tuned_group import tuned_group
from tests.each import numbers, rows
from tests.page import drawn, seen

H100, GPUS, MS = "h100-sxm", 96, (30, 36, 50, 70)


def ends(copies: coupled.Copies, ms: int) -> tuple[float, float]:
    """Leads at a target: with one layout, and with all that each side may choose."""
    tpot_s = ms / 1e3
    group = comparison.whole(H100, tpot_s, copies=copies).gpu_tokens_per_s
    plain = comparison.best(H100, tpot_s, copies=copies).gpu_tokens_per_s(tpot_s)
    free = max(
        one_sided.best_one_sided(
            H100, GPUS, tpot_s, busiest=None, shared=shared, outer="FFN", copies=copies
        ).gpu_tokens_per_s(tpot_s)
        for shared in ("rides along", "attention")
    )
    tuned = tuned_group(H100, GPUS, tpot_s, shared=True, even=True, copies=copies)
    return 100 * (plain / group - 1), 100 * (free / tuned.gpu_tokens_per_s - 1)


def test_a_tuned_split_leads_only_near_targets_at_which_halves_begin_to_pay() -> None:
    for copies, first, ahead in (
        ("expert", 38, [34, 36]), ("node", 44, [42, 44, 46, 48, 50])
    ):  # fmt: skip
        ms = [round(1e3 * each) for each in pictures.TARGETS]
        plain, free = pictures.leads(copies)
        assert [m for m, each in zip(ms, free, strict=True) if each > 0] == ahead
        assert max(plain) < 1 and abs(ms[free.index(max(free))] - first) <= 2
        for m in ms:
            group = tuned_group(
                H100,
                GPUS,
                m / 1e3,
                shared=True,
                even=True,
                copies=copies,
            )
            assert (group.n_batches == 2) is (m >= first)


def test_each_way_to_send_has_the_ink_of_its_name_over_the_targets() -> None:
    """Solid is the group's layout, dashed the free one; the area lies between them."""
    panels = drawn.panels(pictures.over_targets)
    named = (("a row sent 8 times", "expert", 38), ("once to each node", "node", 44))
    for panel, (words, copies, turn) in zip(panels, named, strict=True):
        inks = drawn.inks(panel)
        own = [line for line in panel.get_lines()
               if seen._name(line.get_color()) == inks[words]]  # fmt: skip
        solid, dashed = sorted(own, key=lambda line: line.is_dashed())
        assert not solid.is_dashed() and dashed.is_dashed()
        for ms in MS:
            at = [*np.round(solid.get_xdata())].index(ms)
            drawn_at = solid.get_ydata()[at], dashed.get_ydata()[at]
            assert drawn_at == pytest.approx(ends(copies, ms))  # type: ignore[arg-type]
        level = [line for line in panel.get_lines() if not np.any(line.get_ydata())]
        assert len(level) == 1 and f"{turn} ms: group" in inks
        (upright,) = (
            line for line in panel.get_lines() if len({*line.get_xdata()}) == 1
        )
        assert [*upright.get_xdata()] == [turn, turn]
        for tpot_ms, halves in ((turn - 2, 1), (turn, 2)):
            group = tuned_group(
                H100, 96, tpot_ms / 1e3, shared=True, even=True, copies=copies
            )
            assert group.n_batches == halves


def test_no_place_holds_two_batches_and_each_goes_its_way() -> None:
    took = {True: [1e6 * s.split_s for s in inputs.sides()],
            False: [1e6 * s.half_s for s in inputs.sides()]}  # fmt: skip
    for split, n_batches in ((True, 3), (False, 2)):
        stays = timeline.played(split=split)
        attn, ffn, there, back = took[split]
        want = {"attention": attn, "FFN": ffn, "there": there, "back": back}
        for stay in stays:
            assert stay.end - stay.start == pytest.approx(want[stay.stage])
        places = (("attention",), ("FFN",)) if split else (("attention", "FFN"),)
        for place in (*places, ("there",), ("back",)):
            own = sorted((s.start, s.end) for s in stays if s.stage in place)
            assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(own))
        for batch in range(n_batches):
            mine = [s for s in stays if s.batch == batch]
            mine.sort(key=lambda s: s.start)
            order = [s.stage for s in mine]
            assert order == [*timeline.STAGES] * timeline.LAYERS
            assert all(a.end <= b.start + 1e-6 for a, b in pairwise(mine))


def test_the_period_of_the_lanes_is_that_of_the_account() -> None:
    """The split's by its formula; a layer of the group, both halves and the wait."""
    split = comparison.best(H100, 0.05)
    period = 1e6 * float(split.period_s(split.batch_at(0.05)))
    attn, ffn, _, back = (1e6 * s.half_s for s in inputs.sides())
    layer = 2 * attn + 2 * ffn + back - ffn
    for is_split, want in ((True, 3 * period), (False, layer)):
        first = [s.start for s in timeline.played(split=is_split)
                 if s.stage == "attention" and s.batch == 0]  # fmt: skip
        assert first[-1] - first[-2] == pytest.approx(want, rel=1e-6)
    shares = numbers(timeline.both_ways().title)
    own = 1e6 * inputs.sides()[1].split_s
    idle = (1 - own / period, 1 - 2 * (attn + ffn) / layer)
    assert shares == pytest.approx([100 * each for each in idle], abs=0.5)


def test_a_lane_shows_its_stages_in_their_inks() -> None:
    (panel,) = drawn.panels(timeline.both_ways)
    names = {tick: label.get_text() for tick, label in
             zip(panel.get_yticks(), panel.get_yticklabels(), strict=True)}  # fmt: skip
    want = {"Attention GPUs": {"blue"}, "FFN GPUs": {"green"},
            "every GPU": {"blue", "green"}, "wire, there": {"purple"},
            "wire, back": {"purple"}}  # fmt: skip
    for y, name in names.items():
        bars = [p for p in panel.patches
                if p.get_y() < y < p.get_y() + p.get_height()]  # fmt: skip
        assert {seen._name(bar.get_facecolor()) for bar in bars} == want[name]
    busy = [text for text in panel.texts if text.get_text().startswith("busy")]
    assert len(busy) == 3
    for text in busy:
        y = text.get_position()[1]
        bars = [p for p in panel.patches
                if p.get_y() < y < p.get_y() + p.get_height()]  # fmt: skip
        share = sum(bar.get_width() + 4 for bar in bars) / timeline.SPAN
        assert numbers(text.get_text())[0] == pytest.approx(100 * share, abs=5)


def test_built_splits_have_the_rates_of_their_sources() -> None:
    """Changes as the recipe gives them in words, typed once more."""
    given = [-5.3, 11.3, -10.0, 9.0, 1.03]
    for row, each, gain in zip(
        rows(measured.built_table()), measured.built(), given, strict=True
    ):
        split, group, lead = (
            numbers(row[at].replace("−", "-"))[0] for at in ("split", "group", "lead")
        )
        assert lead == pytest.approx(gain, abs=0.06)
        assert lead == pytest.approx(100 * (split / group - 1), abs=0.3)
        assert split == pytest.approx(each.split, abs=0.051)
