"""Wrong use ends at once, in an error that names the ranks, the call and the rule."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from llmserve_lab.collectives import ClusterError, Rank, run
from tests.collectives.programs import WRONG


@pytest.mark.parametrize("name", WRONG)
def test_all_are_told_who_did_what(name: str) -> None:
    program, message = WRONG[name]
    with pytest.raises(ClusterError) as caught:
        run(program, 2, timeout_s=5)
    assert str(caught.value) == message


def test_no_thread_is_left_behind() -> None:
    before = threading.active_count()
    for program, _ in WRONG.values():
        with pytest.raises(ClusterError):
            run(program, 2, timeout_s=5)
    for _ in range(100):
        if threading.active_count() == before:
            return
        time.sleep(0.01)
    assert threading.active_count() == before


def test_the_error_that_a_rank_raised_is_the_cause() -> None:
    with pytest.raises(ClusterError) as caught:
        run(WRONG["raise"][0], 4)
    assert caught.value.rank == 1
    assert isinstance(caught.value.__cause__, ArithmeticError)
    assert str(caught.value).endswith("ranks 0, 2 and 3 in all_reduce (collective 1)")


def test_a_circle_of_receives_is_found_without_waiting() -> None:
    def circle(rank: Rank) -> None:
        rank.recv(src=(rank.index + 1) % rank.num_ranks)

    with pytest.raises(ClusterError, match="rank 2 waiting in recv from rank 0"):
        run(circle, 3)


def test_a_rank_that_never_calls_is_given_up() -> None:
    wake = threading.Event()

    def stuck(rank: Rank) -> None:
        if rank.index == 1:
            wake.wait()
        rank.barrier()

    message = (
        "a rank must call or return within 0.05 s: rank 1 did not; "
        "meanwhile rank 0 in barrier (collective 1)"
    )
    with pytest.raises(ClusterError) as caught:
        run(stuck, 3, timeout_s=0.05)
    assert str(caught.value) == message
    wake.set()


def test_an_error_in_one_run_does_not_show_in_the_next() -> None:
    with pytest.raises(ClusterError):
        run(WRONG["send"][0], 2)
    assert run(lambda rank: rank.index, 2).results == (0, 1)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda rank: rank.all_reduce("ab"), "TypeError: all_reduce: x must be an arr"),
        (lambda rank: rank.all_reduce(np.array([object()])), "got dtype object"),
        (lambda rank: rank.all_reduce([True]), "numbers, got dtype bool"),
        (lambda rank: rank.all_reduce([[1], [1, 2]]), "all_reduce: x must be rectang"),
        (lambda rank: rank.broadcast(None, root=0), "broadcast: x must .* got None"),
        (lambda rank: rank.broadcast([1], root=2), "root must be a rank from 0 to 1"),
        (lambda rank: rank.all_gather(1.0, axis=0), r"all_gather: axis .* \(\), got 0"),
        (lambda rank: rank.all_gather([1.0], axis=1), r"of shape \(1,\), got 1"),
        (
            lambda rank: rank.reduce_scatter(np.ones((2, 3)), axis=1),
            r"multiple of 2 along axis 1, got shape \(2, 3\)",
        ),
        (lambda rank: rank.all_to_all(np.ones(2), [2]), r"one per rank, 2, got \[2\]"),
        (lambda rank: rank.all_to_all(np.ones(2), [3, -1]), r"at least 0, got \[3, -1"),
        (lambda rank: rank.all_to_all(np.ones(2), [0.5, 1.5]), "counts must be whole"),
        (lambda rank: rank.all_to_all(1.0, [0, 0]), "rows of x, None, got"),
        (lambda rank: rank.send([1.0], dst=rank.index), "send: dst must be another"),
        (lambda rank: rank.recv(src=7), "recv: src must be a rank from 0 to 1, got 7"),
        (lambda rank: rank.broadcast([1], root=0.0), "root must be a whole .* got 0.0"),
        (lambda rank: rank.send([1.0], dst=True), "send: dst must be a whole .* True"),
        (lambda rank: rank.all_gather([1.0], axis="x"), "axis must be a whole .* 'x'"),
    ],
)
def test_a_wrong_argument_is_named(
    program: Callable[[Rank], Any], message: str
) -> None:
    with pytest.raises(ClusterError, match=message) as caught:
        run(program, 2)
    assert "rank 0" in str(caught.value) or "ranks 0 and 1" in str(caught.value)


@pytest.mark.parametrize("num_ranks", [0, -1, 2.0, True, "2"])
def test_the_number_of_ranks_is_a_positive_whole_number(num_ranks: Any) -> None:
    with pytest.raises(ValueError, match=r"num_ranks must be (a whole|at least)"):
        run(lambda rank: None, num_ranks)


def test_a_whole_number_of_numpys_will_do() -> None:
    two: Any = np.int64(2)
    assert run(lambda rank: rank.num_ranks, two).results == (2, 2)


def test_the_backend_and_the_timeout_are_checked() -> None:
    with pytest.raises(ValueError, match=r"backend must be one of .* got 'nccl'"):
        run(lambda rank: None, 2, backend="nccl")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout_s must be positive, got 0"):
        run(lambda rank: None, 2, timeout_s=0)
