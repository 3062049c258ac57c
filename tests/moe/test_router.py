"""The router: who is chosen, how they are weighed, what narrows or nudges it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.collectives import Rank, run
from llmserve_lab.collectives.group import group
from llmserve_lab.moe import placement, routing_sampler
from llmserve_lab.moe.layer import batch, layer_of
from llmserve_lab.moe.page import route_chart
from llmserve_lab.moe.parallel import pack
from llmserve_lab.transformer.ffn import GroupLimit

SPEC = MoeFfn(d_ff=2, n_experts=12, n_shared=0, top_k=3, n_dense_layers=0, d_ff_dense=2)


def test_a_bias_chooses_and_does_not_weigh() -> None:
    layer, rows = layer_of(SPEC, scores="sigmoid"), batch(9)
    score = 1 / (1 + np.exp(-rows @ layer.weights["router"]))
    chosen, weight = layer.pulled(np.eye(12)[5] * 100).route(rows)
    assert (chosen[:, 0] == 5).all()
    raw = np.take_along_axis(score, chosen, axis=1)
    assert weight == pytest.approx(raw / raw.sum(axis=1, keepdims=True))


def test_a_narrowed_row_takes_the_best_experts_of_its_best_groups() -> None:
    """Tried against every pair of groups, and every expert in them."""
    rng = np.random.default_rng(1)
    preference = rng.standard_normal((20, 12))
    narrowed = GroupLimit(n_groups=4, top_groups=2)(preference)
    for row, left in zip(preference, narrowed, strict=True):
        groups = row.reshape(4, 3)
        worth = [sum(sorted(each)[-2:]) for each in groups]
        best = max(combinations(range(4), 2), key=lambda p: worth[p[0]] + worth[p[1]])
        kept = {3 * g + i for g in best for i in range(3)}
        assert set(np.flatnonzero(np.isfinite(left))) == kept
        assert all(left[i] == row[i] for i in kept)


@pytest.mark.parametrize(("n_groups", "top_groups"), [(5, 1), (4, 5), (4, 0)])
def test_groups_that_do_not_fit_are_refused(n_groups: int, top_groups: int) -> None:
    with pytest.raises(ValueError, match="n_groups must divide 12 experts"):
        GroupLimit(n_groups=n_groups, top_groups=top_groups)(np.ones((1, 12)))


@pytest.mark.parametrize(
    ("n_groups", "top_groups", "message"),
    [
        (0, 1, "limit must use some of the groups that divide 12 experts, got 1 of 0"),
        (4, 5, "limit must use some of the groups that divide 12 experts, got 5 of 4"),
        (6, 1, "limit must leave top_k = 3 experts, got 2"),
    ],
)
def test_a_layer_with_a_limit_that_does_not_fit_is_refused(
    n_groups: int, top_groups: int, message: str
) -> None:
    limit = GroupLimit(n_groups=n_groups, top_groups=top_groups)
    with pytest.raises(ValueError, match=message):
        layer_of(SPEC, limit=limit)


def test_unknown_words_are_refused() -> None:
    known = "scores must be one of softmax, sigmoid, got 'relu'"
    with pytest.raises(ValueError, match=known):
        layer_of(SPEC, scores="relu")  # type: ignore[arg-type]
    asked = layer_of(SPEC).route(batch(2))
    node: Any = "node"
    with pytest.raises(ValueError, match="copies must be one of expert, rank, got"):
        pack(*asked, placement.contiguous(12, 2), copies=node)


def test_a_row_of_the_figure_stays_on_four_ranks_where_it_is_told_to() -> None:
    met = dict(zip(route_chart.rules(), route_chart.ranks_met(), strict=True))
    narrow = met["sigmoid, on four ranks at most"]
    assert max(map(max, narrow)) <= 4 < max(map(max, met["sigmoid"]))
    softmax, sigmoid = met["softmax"], met["sigmoid"]
    assert softmax == sigmoid  # what grows with the score is chosen in its order


def test_rows_draw_different_experts_by_popularity() -> None:
    chosen = routing_sampler.draw([1.0, 1.0, 2.0], n_rows=9000, top_k=1)
    share = routing_sampler.rows_of_experts(chosen, 3) / 9000
    assert share == pytest.approx([0.25, 0.25, 0.5], abs=0.02)
    many = routing_sampler.draw(routing_sampler.zipf(8), n_rows=50, top_k=5)
    assert all(len(set(row)) == 5 for row in many.tolist())
    for odd in (0.0, float("nan")):
        with pytest.raises(ValueError, match="popularity must be positive"):
            routing_sampler.draw([1.0, odd], n_rows=1, top_k=1)
    with pytest.raises(ValueError, match="top_k must be at least 1, got -1"):
        routing_sampler.draw([1.0, 1.0], n_rows=1, top_k=-1)
    with pytest.raises(ValueError, match="trials must be at least 1 trial, got 0"):
        routing_sampler.mean_distinct([1.0, 1.0], n_rows=1, top_k=1, trials=0)


def test_heaviest_first_is_never_worse_than_four_thirds_of_the_best() -> None:
    """Graham's bound, without a limit of seats that would bind: against all ways."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        rows = rng.integers(1, 30, size=6)
        found = placement.redundant(rows, 2).loads(rows).max()
        halves = combinations(range(6), 3)
        best = min(
            max(rows[list(h)].sum(), rows.sum() - rows[list(h)].sum()) for h in halves
        )
        assert best <= found <= (4 / 3 - 1 / 6) * best


@pytest.mark.parametrize(
    ("rows", "ranks", "extra", "message"),
    [
        ([1, 2, 3], 2, 0, "must fill 2 ranks evenly, got 3"),
        ([1, 2], 2, 4, "extra must leave one copy a rank, got 4"),
        ([1, 2], 2, -2, "must fill 2 ranks evenly, got 0"),
        ([1, -1], 2, 0, "rows_of_experts must be 0 or more, got -1"),
        ([1, float("nan")], 2, 0, "rows_of_experts must be 0 or more, got nan"),
    ],
)
def test_experts_that_cannot_be_housed(
    rows: list[float], ranks: int, extra: int, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        placement.redundant(rows, ranks, extra)


def test_a_placement_must_hold_every_expert_once_a_rank() -> None:
    with pytest.raises(ValueError, match="seats must hold every expert"):
        placement.Placement(((0,), (2,)))
    with pytest.raises(ValueError, match="seats of a rank must differ"):
        placement.Placement(((0, 0), (1,)))
    assert placement.balance([0, 0]) == 1.0


def sums(rank: Rank) -> tuple[float, float]:
    """A member's number added up in its group, then over all."""
    mine = np.array([float(rank.index)])
    team = group(rank, 2)
    return float(team.all_reduce(mine)[0]), float(rank.all_reduce(mine)[0])


def test_groups_add_up_among_themselves_and_bytes_stand_on_one_ledger() -> None:
    done = run(sums, 6)
    assert [own for own, _ in done.results] == [1, 1, 5, 5, 9, 9]
    assert {every for _, every in done.results} == {15}
    assert done.ledger.calls("all_reduce", rank=3) == 2


def notes(rank: Rank) -> float:
    """Even members of a group write to odd ones."""
    team = group(rank, 2)
    if team.index == 0:
        team.send(np.array([float(rank.index)]), dst=1)
        return -1.0
    return float(team.recv(src=0)[0])


def test_members_of_a_group_write_to_each_other() -> None:
    assert run(notes, 4).results == (-1.0, 0.0, -1.0, 2.0)
