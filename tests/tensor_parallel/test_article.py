"""The article's two tables, cell by cell, are what the ranks really held."""

from __future__ import annotations

import re

import numpy as np
import pytest

from llmserve_lab.tensor_parallel import article, midhead
from llmserve_lab.tensor_parallel.steps import RankStep

# Article 03, sections 2 and 4: weight, input, output on each GPU; ★ marks an exchange.
GATHERED = """
input 4×512 4×512
norm 4×512 4×512
QKV 512×768 4×512 4×768
attention 4×768 4×256
★ 4×256 4×512
o_proj 512×256 4×512 4×256
★ 4×256 4×512
+ 4×512 4×512
norm 4×512 4×512
up 512×1024 4×512 4×1024
GeLU 4×1024 4×1024
★ 4×1024 4×2048
down 2048×256 4×2048 4×256
★ 4×256 4×512
+ 4×512 4×512
"""
PAIRED = """
input 4×512 4×512
norm 4×512 4×512
QKV 512×768 4×512 4×768
attention 4×768 4×256
o_proj 256×512 4×256 4×512
★ 4×512 4×512
+ 4×512 4×512
norm 4×512 4×512
up 512×1024 4×512 4×1024
GeLU 4×1024 4×1024
down 1024×512 4×1024 4×512
★ 4×512 4×512
+ 4×512 4×512
"""


def line(step: RankStep) -> list[str]:
    """A step's shapes as the article writes them."""
    shapes = [step.taken, step.given]
    return [
        "×".join(map(str, each))
        for each in ([step.weight] if step.weight else []) + shapes
    ]


@pytest.mark.parametrize(
    ("name", "cells"), [("gathered", GATHERED), ("paired", PAIRED)]
)
def test_the_table_is_the_article_s(name: str, cells: str) -> None:
    done = article.execute(name, 2, article.batch())
    wanted = [row.split() for row in cells.strip().splitlines()]
    for steps in done.steps:
        assert [line(step) for step in steps] == [row[1:] for row in wanted]
        starred = [row[0] == "★" for row in wanted]
        assert [step.is_collective for step in steps] == starred


def test_heads_are_dealt_out_in_order() -> None:
    done = article.execute("paired", 2, article.batch())
    remarks = [steps[2].remark for steps in done.steps]
    assert remarks == ["heads 1–4", "heads 5–8"]
    assert re.search(r"\[512×768\].*heads 5–8", repr(done.table))


@pytest.mark.parametrize("tp", [1, 2, 4, 8])
def test_a_cut_head_needs_its_scores_added_before_the_softmax(tp: int) -> None:
    rows, weights = article.batch()[:, :32], midhead.projections(32, 1)
    done = midhead.execute(tp, rows, weights)
    assert done.ledger.calls("all_reduce", rank=0) == 2
    assert done.ledger.records[0][0].shape == (1, 4, 4)
    assert midhead.error(tp, rows, weights, synced=True) < 1e-12
    wrong = midhead.error(tp, rows, weights, synced=False)
    assert wrong == pytest.approx(0, abs=1e-12) if tp == 1 else wrong > 0.01


def test_softmax_of_a_sum_is_no_sum_of_softmaxes() -> None:
    from llmserve_lab.transformer.rowwise import softmax

    one, other = np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]])
    assert not np.allclose(softmax(one) + softmax(other), softmax(one + other))
