"""Slots that a cache has room for, and the storm of those that it has not."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.kv_memory.machine import BLOCK, num_blocks
from llmserve_lab.symptoms import storm
from llmserve_lab.symptoms.cases.memory import SAFE
from llmserve_lab.symptoms.cases.streaming import ROOMY
from llmserve_lab.symptoms.page import figures
from llmserve_lab.workloads import Always, Geometric, LengthLaw, Lognormal


@pytest.mark.parametrize("name", storm.SLOTS)
def test_the_storm_is_conserved_block_by_block(name: str) -> None:
    """Every token is written once; blocks held never exceed those that there are."""
    report, played = storm.served(name), storm.frames(name)
    assert report.output_len.sum() == sum(storm.ANSWERS)
    for frame in played:
        assert sum(storm.held_blocks(frame).values()) == frame.used_blocks
        assert frame.used_blocks <= storm.BLOCKS
        assert len(frame.running) <= storm.SLOTS[name]
    stretches = storm.stretches(name)
    again = sum(each.again for each in stretches)
    assert again == report.recomputed_tokens
    for number in range(4):
        mine = [each for each in stretches if each.id == number]
        assert [a.last for a in mine[:-1]] == [b.first for b in mine[1:]]
        ran = sum(each.last - each.first for each in mine if each.doing == "runs")
        assert ran == storm.ANSWERS[number]


def test_nothing_passes_the_head_of_the_queue() -> None:
    """C was put before D; D would fit at once, and waits until C has returned."""
    played = storm.frames("four slots")
    (at,) = (i for i, each in enumerate(played) if each.ids("preempted") == (2,))
    after = played[at + 1]
    free = storm.BLOCKS - sum(storm.held_blocks(after).values())
    d, c = (-(-(storm.PROMPT + done + 1) // BLOCK) for done in (16, 32))
    assert after.waiting == (2, 3)
    assert (free, d, c) == (6, 6, 7), "room for D, not for C"
    back = {i: each.ids("admitted") for i, each in enumerate(played) if i > at}
    (first, second) = (ids for ids in back.values() if ids)
    assert (first, second) == ((2,), (3,))


def test_two_slots_preempt_nothing_and_four_do() -> None:
    assert storm.served("two slots").num_preemptions == 0
    assert storm.served("four slots").num_preemptions == 2
    with pytest.raises(ValueError, match="name must be one of four slots, two slots"):
        storm.served("no slots")


def test_the_step_figure_counts_what_the_report_counts() -> None:
    shown = figures.storm_steps()
    for name, log in shown.logs.items():
        running, waiting, preempted, again = log.frames[-1].counters
        report = storm.served(name)
        assert (preempted, again) == (report.num_preemptions, report.recomputed_tokens)
        assert (running, waiting) == (1.0, 0.0)
        for frame in log.frames:
            assert float(frame.counters[0]) + float(frame.counters[1]) <= 4


def test_slots_for_a_known_maximum_never_overflow_and_one_more_can() -> None:
    for longest in (1, 16, 17, 1000, 2500):
        slots, blocks = storm.slots_at_most(longest), -(-longest // BLOCK)
        assert slots * blocks <= num_blocks() < (slots + 1) * blocks
    with pytest.raises(ValueError, match="longest must be"):
        storm.slots_at_most(0)


@pytest.mark.parametrize(("answer", "chosen"), ((1500, SAFE), (2000, ROOMY)))
def test_slots_for_a_known_average_overflow_rarely(answer: int, chosen: int) -> None:
    """Lengths drawn at random: two spreads of room, and none at all."""
    rng, room = np.random.default_rng(5), num_blocks() * BLOCK

    def overflows(slots: int) -> float:
        held = rng.geometric(1 / 1000, (20_000, slots))
        held += rng.geometric(1 / answer, (20_000, slots))
        blocks = -(-held // BLOCK)
        return float((blocks.sum(axis=1) > num_blocks()).mean())

    slots = storm.slots_on_average(1000, answer)
    assert chosen <= slots
    assert 1 / 55 < overflows(slots) < 1 / 30, "one moment in forty"
    assert 0.4 < overflows(room // (1000 + answer)) < 0.6
    with pytest.raises(ValueError, match="spreads must be"):
        storm.slots_on_average(1000, answer, 0)


def test_answers_of_one_length_that_began_at_different_times_overflow_rarely() -> None:
    """As above, but written to any part with the same probability."""
    rng, room = np.random.default_rng(6), 600_000
    mean, margin = 1000 + 8000 / 2, 2 * 8000 / 12**0.5
    slots = storm.slots_with_room(room, mean, margin)
    for many, least, most in ((slots, 1 / 80, 1 / 30), (int(room / mean), 0.4, 0.6)):
        held = (1000 + rng.uniform(0, 8000, (20_000, many))).sum(axis=1)
        assert least < (held > room).mean() < most
    with pytest.raises(ValueError, match="margin must be"):
        storm.slots_with_room(room, mean, 0)


LAWS: dict[str, LengthLaw] = {
    "equal": Always(400),
    "geometric": Geometric(400),
    "spread": Lognormal(mean=400, cv=2),
}


@pytest.mark.parametrize("name", LAWS)
def test_what_a_running_answer_has_written_depends_on_the_law_of_lengths(
    name: str,
) -> None:
    """Answers one after another, watched at moments drawn at random."""
    rng = np.random.default_rng(3)
    lengths = LAWS[name].draw(rng, 400_000)
    ends = np.cumsum(lengths)
    moments = rng.uniform(0, ends[-1], 400_000)
    met = np.searchsorted(ends, moments, side="right")
    written = moments - (ends - lengths)[met]
    mean, cv = float(lengths.mean()), float(lengths.std() / lengths.mean())
    said = storm.written_on_average(mean, cv)
    assert written.mean() == pytest.approx(said, rel=0.03)
    assert (said > 0.95 * mean) == (name != "equal")
    with pytest.raises(ValueError, match="cv must be"):
        storm.written_on_average(400, -1)


def test_the_head_of_the_queue_needs_one_block_more_than_is_free() -> None:
    """C has 97 tokens: its six stored blocks are full when it goes, and it needs a
    seventh; six are free, and D, behind it, would fit into them."""
    frames, (last, head) = storm.frames("four slots"), storm.pauses("four slots")
    after = frames[head.first]
    free = storm.BLOCKS - sum(storm.held_blocks(after).values())
    need = [-(-(storm.PROMPT + each.first) // BLOCK) for each in (last, head)]
    assert (free, need) == (6, [6, 7])
    back = [s for s in storm.stretches("four slots") if s.again]
    assert sum(s.again for s in back) == storm.served("four slots").recomputed_tokens
