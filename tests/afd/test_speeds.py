"""The split's lead over the network's speed: each bar, and what explains its turns."""

from __future__ import annotations

import pytest

from llmserve_lab.afd import coupled, deployment
from llmserve_lab.afd.page import comparison, speeds
from tests.page import drawn, seen

H100, TIGHT, COPIES = "h100-sxm", 0.05, comparison.COPIES
RATES = {
    "½": 0.5, "¾": 0.75, "1": 1, "1½": 1.5, "2": 2, "3": 3, "4": 4, "8": 8,
    "no wire": 1e9,
}  # fmt: skip


def groups(speed: float) -> dict[bool, float]:
    """Tokens/s of a GPU in two halves, and in one batch."""
    off = (1.0, 1 / speed)
    return {
        halves: coupled.arranged(
            H100, 96, TIGHT, halves=halves, copies=COPIES, off=off
        ).gpu_tokens_per_s
        for halves in (True, False)
    }


def best_of(speed: float, *, n_ffn: int = 0, m: int = 0) -> float:
    """The most tokens/s of splits with so many FFN GPUs, or batches in flight."""
    every = deployment.splits(H100, 96, copies=COPIES, off=(1.0, 1 / speed))
    return max(
        each.gpu_tokens_per_s(TIGHT)
        for each in every
        if n_ffn in (0, each.n_ffn) and m in (0, each.n_batches)
    )


def test_each_bar_is_the_lead_at_the_speed_below_it() -> None:
    (panel,) = drawn.panels(speeds.over_speeds)
    called = [label.get_text() for label in panel.get_xticklabels()]
    assert called == [*RATES] and len(panel.patches) == len(RATES)
    words = {round(text.get_position()[0], 2): text for text in panel.texts}
    named = {text.get_text(): text for text in panel.texts}
    inks = {
        halves: seen._name(named[f"group in {what}"].get_color())
        for halves, what in ((True, "two halves"), (False, "one batch"))
    }
    assert inks[True] != inks[False]
    for at, (bar, speed) in enumerate(zip(panel.patches, RATES.values(), strict=True)):
        group = groups(speed)
        lead = 100 * (best_of(speed) / max(group.values()) - 1)
        assert bar.get_height() == pytest.approx(lead, abs=0.05)
        assert bar.get_x() + bar.get_width() / 2 == pytest.approx(at)
        ink = inks[group[True] > group[False]]
        assert seen._name(bar.get_facecolor()) == ink
        assert seen._name(words[at].get_color()) == ink
        said = words[at].get_text().replace("−", "-").rstrip("%")
        assert float(said) == pytest.approx(lead, abs=0.55)
    assert max(RATES, key=lambda name: speeds.at_speed(RATES[name]).lead) == "½"


def test_the_split_is_ahead_on_a_slow_network_with_four_batches() -> None:
    assert best_of(0.5, m=4) > max(groups(0.5).values()) > best_of(0.5, m=3)
    assert max(groups(0.5).values()) == groups(0.5)[True]


def test_two_halves_gain_nothing_once_they_hide_the_wire() -> None:
    rates = {speed: groups(speed)[True] for speed in (0.5, 1.0, 1.5, 2.0, 3.0, 8.0)}
    for speed in (2.0, 3.0, 8.0):
        assert rates[speed] == pytest.approx(rates[1.5], rel=1e-3)
    assert rates[0.5] < 0.5 * rates[1.5] and 0.85 < rates[1.0] / rates[1.5] < 0.9


def test_a_faster_network_lets_the_split_do_with_fewer_ffn_gpus() -> None:
    for speed in (0.5, 0.75, 1.0, 1.5):
        wide = max(best_of(speed, n_ffn=n) for n in (48, 56))
        assert wide == best_of(speed) > best_of(speed, n_ffn=40)
    for speed in (2.0, 3.0):
        assert best_of(speed, n_ffn=40) == best_of(speed) > best_of(1.5)
        assert -0.07 < comparison.lead(H100, TIGHT, off=(1.0, 1 / speed)) < -0.03


def test_from_three_times_on_one_batch_is_the_better_group() -> None:
    better = {s: groups(s)[False] > groups(s)[True] for s in (1.0, 2.0, 3.0, 4.0, 1e9)}
    assert [*better.values()] == [False, False, True, True, True]
    assert comparison.lead(H100, TIGHT, off=(1.0, 1e-9)) == pytest.approx(
        -0.191, abs=0.003
    )


def test_charged_overlap_leaves_the_split_behind_both_groups() -> None:
    one, two, split = comparison.beside(H100, TIGHT, overlap="charged").values()
    assert 1 - split / two == pytest.approx(0.063, abs=0.004)
    assert 1 - split / one == pytest.approx(0.179, abs=0.004)


def test_the_split_leads_at_half_the_speed_alone_as_the_title_says() -> None:
    ahead = [name for name, speed in RATES.items() if speeds.at_speed(speed).lead > 0]
    assert ahead == ["½"] and "half the network" in speeds.over_speeds().title
