"""Prefill: more pairs with the prompt, copies as drawn, and nothing impossible."""

from typing import Any

import numpy as np
import pytest

from llmserve_lab.deepseek.prefill import copies, prefill_s, touched
from llmserve_lab.deepseek.setup import SETUPS, setup
from llmserve_lab.deepseek.twin import Twin

PLACE = SETUPS["9 × 8 H100"]


def test_prefill_grows_faster_than_its_prompt() -> None:
    twin = Twin(setup=setup("h100-sxm", 32))
    short, long = (prefill_s(twin, prompt=n, rows=65_536) for n in (1024, 65_536))
    assert long > short
    both = prefill_s(twin, prompt=np.array([1024, 65_536]), rows=65_536)
    assert both == pytest.approx([short, long])


def test_copies_in_prefill_are_those_of_drawn_experts() -> None:
    """Rows draw experts among four nodes of eight GPUs; nodes and GPUs are counted."""
    rng = np.random.default_rng(0)
    node = rng.integers(0, 4, (4000, 8))
    gpu = 8 * node + rng.integers(0, 8, node.shape)
    drawn = [np.mean([len(set(row)) for row in rows]) for rows in (node, gpu)]
    for gpus in (32, 72):  # on nine nodes a row still keeps to four
        place = setup("h100-sxm", gpus)
        assert touched(place, places=1) == pytest.approx(drawn[0], rel=0.01)
        assert touched(place, places=8) == pytest.approx(drawn[1], rel=0.01)
    kimi = setup("h100-sxm", 72, model="kimi-k2")
    assert touched(kimi, places=1) > 5


def test_inside_a_node_more_gpus_are_more_copies() -> None:
    found = [copies(setup("h200-sxm", n)) for n in (2, 4, 8)]
    assert [each["far_share"] for each in found] == [0, 0, 0]
    sent = [each["sent_copies"] for each in found]
    assert 1.9 < sent[0] < 2 < sent[1] < 4 < sent[2] < 8


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"prompt": 0, "rows": 8}, "prompt must be at least 1 token, got 0"),
        ({"prompt": -5, "rows": 8}, "prompt must be at least 1 token, got -5"),
        ({"prompt": 16, "rows": 1}, "rows must be those of a prompt of 16, got 1"),
    ],
)
def test_impossible_prefills_are_refused(size: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prefill_s(Twin(setup=PLACE), **size)
