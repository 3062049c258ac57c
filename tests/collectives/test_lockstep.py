"""One process, many ranks: they take turns, and share nothing."""

from __future__ import annotations

import numpy as np

from llmserve_lab.collectives import Rank, run


def test_nobody_shares_memory() -> None:
    """Neither with what another got, nor with what another handed in."""

    def program(rank: Rank) -> list[float]:
        mine = np.zeros(2)
        got = [
            rank.broadcast(mine, root=0),
            rank.all_gather(mine, axis=0),
            rank.all_reduce(mine),
            rank.all_to_all(mine, [2 if i == 0 else 0 for i in range(3)])[0],
        ]
        if rank.index == 0:
            rank.send(mine, dst=1)
        mine += 1
        for each in got:
            each += rank.index
        rank.barrier()
        if rank.index == 1:
            got.append(rank.recv(src=0))
        return [float(each[0]) for each in got if each.size]

    assert run(program, 3).results == ([0] * 4, [1] * 3 + [0], [2] * 3)


def test_a_program_gets_its_arguments_and_the_callers_settings() -> None:
    def program(rank: Rank, base: float, step: float) -> float:
        return base + step * rank.index + np.float64(1) / np.float64(0)

    with np.errstate(divide="ignore"):
        assert run(program, 2, 1.0, 2.0).results == (np.inf, np.inf)


def test_ranks_take_turns_in_the_same_order_every_time() -> None:
    def told() -> list[int]:
        order: list[int] = []

        def program(rank: Rank) -> None:
            for _ in range(3):
                order.append(rank.index)
                rank.barrier()

        run(program, 4)
        return order

    assert told() == told() == [0, 1, 2, 3] * 3
