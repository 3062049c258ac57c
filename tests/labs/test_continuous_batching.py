"""The lab's server counts what a server does, and every student can solve the lab."""

from __future__ import annotations

from heapq import heapreplace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab.continuous_batching.exercise import in_order_of_arrival
from llmserve_lab.labs import continuous_batching as lab

ANSWERS = st.lists(st.integers(1, 40), min_size=1, max_size=30)
SLOTS = st.integers(1, 8)


def static(waiting: list[int], running: list[int], slots: int) -> list[int]:
    return [] if running else waiting[:slots]


def continuous(waiting: list[int], running: list[int], slots: int) -> list[int]:
    return waiting[: slots - len(running)]


@given(ANSWERS, SLOTS)
def test_a_static_batch_lasts_as_long_as_its_longest_answer(
    answers: list[int], slots: int
) -> None:
    served = lab.serve(answers, slots, static)
    batches = [answers[at : at + slots] for at in range(0, len(answers), slots)]
    assert served.iterations == sum(map(max, batches))


@given(ANSWERS, SLOTS)
def test_continuous_batching_is_list_scheduling(answers: list[int], slots: int) -> None:
    served, free = lab.serve(answers, slots, continuous), [0] * slots
    ended = []
    for answer in answers:
        ended.append(free[0] + answer)
        heapreplace(free, ended[-1])
    assert [*served.ended] == ended
    assert served.iterations == max(ended)


@given(ANSWERS, SLOTS)
def test_tokens_are_conserved_and_slots_are_not_exceeded(
    answers: list[int], slots: int
) -> None:
    for enter in (static, continuous):
        served = lab.serve(answers, slots, enter)
        assert served.tokens == sum(answers)
        made = (1 - served.wasted) * served.slots * served.iterations
        assert made == pytest.approx(sum(answers))
        assert 0 <= served.wasted < 1
    better = lab.serve(answers, slots, continuous)
    assert better.iterations <= lab.serve(answers, slots, static).iterations


@pytest.mark.parametrize(
    ("enter", "rule"),
    [
        (lambda waiting, running, slots: [], "let a request in when no slot is taken"),
        (lambda waiting, running, slots: [7], "numbers that wait, got 7"),
        (lambda waiting, running, slots: [0, 0], "name a request once"),
        (lambda waiting, running, slots: [0, 1, 2], "fill 2 free slots at most, got 3"),
        (lambda waiting, running, slots: None, "must return a list, got None"),
    ],
)
def test_what_no_server_could_do_is_refused(enter: lab.Enter, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        lab.serve([3, 2, 1], 2, enter)


@pytest.mark.parametrize(
    ("answers", "slots"), [([], 2), ([3, 0], 2), ([3], 0), ([3], 10**6)]
)
def test_sizes_without_meaning_are_refused(answers: list[int], slots: int) -> None:
    with pytest.raises(ValueError, match=r"answers?|slots"):
        lab.serve(answers, slots, continuous)


def test_a_student_keeps_the_numbers_and_a_neighbour_has_others() -> None:
    assert lab.drawn("Ada") == lab.drawn(" ada ")
    everybody = [lab.drawn(str(number)) for number in range(200)]
    assert len({each.answers for each in everybody}) == 200
    assert len({each.target_s for each in everybody}) == 5
    with pytest.raises(ValueError, match="student must be a name"):
        lab.drawn("  ")


@pytest.mark.parametrize("student", [*map(str, range(12))])
def test_every_target_is_kept_by_some_budget_and_missed_by_another(
    student: str,
) -> None:
    of = lab.drawn(student)
    gaps_s = [
        lab.longest_gap_s(of, lab.run(of, in_order_of_arrival, budget=budget))
        for budget in (lab.BUDGETS[0], lab.BUDGETS[-1])
    ]
    assert gaps_s[0] <= of.target_s
    assert gaps_s[0] < gaps_s[1]
