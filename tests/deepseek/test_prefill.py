"""Prefill: more pairs with the prompt, copies as drawn, and nothing impossible."""

from typing import Any

import numpy as np
import pytest

from llmserve_lab.deepseek.calibration.kernel_efficiency import hopper
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.model.prefill import (
    copies,
    lent,
    prefill_blocks,
    prefill_s,
    touched,
)
from llmserve_lab.deepseek.model.setup import SETUPS, setup
from tests.deepseek.twins import twin

PLACE = SETUPS["9 × 8 H100"]


def test_prefill_grows_faster_than_its_prompt() -> None:
    place = twin(setup("h100-sxm", 32))
    short, long = (prefill_s(place, prompt=n, rows=65_536) for n in (1024, 65_536))
    assert long > short
    both = prefill_s(place, prompt=np.array([1024, 65_536]), rows=65_536)
    assert both == pytest.approx([short, long])


def test_copies_in_prefill_are_those_of_drawn_experts() -> None:
    """Rows draw eight different experts among those of four nodes of eight GPUs."""
    rng = np.random.default_rng(0)
    for gpus, experts in ((32, 256), (64, 128)):  # a row keeps to four nodes
        chosen = rng.permuted(np.tile(np.arange(experts), (4000, 1)), axis=1)[:, :8]
        node, gpu = chosen * 4 // experts, chosen * 32 // experts
        drawn = [np.mean([len(set(row)) for row in rows]) for rows in (node, gpu)]
        place = setup("h100-sxm", gpus)
        assert touched(place, places=1) == pytest.approx(drawn[0], rel=0.005)
        assert touched(place, places=8) == pytest.approx(drawn[1], rel=0.005)
    kimi = setup("h100-sxm", 72, model="kimi-k2")
    assert touched(kimi, places=1) > 5


def test_inside_a_node_more_gpus_are_more_copies() -> None:
    found = [copies(setup("h200-sxm", n)) for n in (2, 4, 8)]
    assert [each["far_share"] for each in found] == [0, 0, 0]
    sent = [each["dispatched_copies"] for each in found]
    assert 1.9 < sent[0] < 2 < sent[1] < 4 < sent[2] < 8


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"prompt": 0, "rows": 8}, "prompt must be at least 1 token, got 0"),
        ({"prompt": -5, "rows": 8}, "prompt must be at least 1 token, got -5"),
        ({"prompt": 16, "rows": 1}, "rows must be those of a prompt of 16, got 1"),
        (
            {"prompt": 1, "rows": 1, "cached": -1},
            "cached must be at least 0 tokens, got -1",
        ),
    ],
)
def test_impossible_prefills_are_refused(size: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prefill_s(twin(PLACE), **size)


def test_multiprocessors_are_lent_only_where_something_overlaps() -> None:
    many, one = setup("h100-sxm", 32), setup("h100-sxm", 1)
    share = book_assumptions().lent_share
    for overlap, found in (("none", 0), ("halves", share), ("hidden", share)):
        assert lent(twin(many, overlap=overlap)) == found
        assert lent(twin(one, overlap=overlap)) == 0
    size = {"prompt": 4096, "rows": 65_536}
    alone, beside = (
        prefill_blocks(twin(many, overlap=overlap), **size)
        for overlap in ("none", "hidden")
    )
    assert alone["all_to_all_s"] == beside["all_to_all_s"]
    assert alone["mla_s"] < beside["mla_s"]
    assert alone["experts_s"] < beside["experts_s"]


def test_a_cached_prefix_is_attended_to_and_expanded() -> None:
    """Each new row meets each cached one, and each of those is made again, once."""
    place = twin(setup("h100-sxm", 32), roofline="sharp", elementwise=False)
    long = 16_384  # beyond the longest prompt of which the share is known
    size = {"prompt": long, "rows": 4 * long}
    none, half = (prefill_blocks(place, **size, cached=n) for n in (0, long))
    spec, layers = place.setup.latent, place.setup.model.n_layers
    pairs = 2 * long * long  # of one half of the batch, two prompts
    attended = pairs * layers * spec.flops_per_pair(absorbed=False)
    wide = spec.n_heads * (spec.d_head + spec.d_v)
    again = 2 * long * layers * 2 * spec.d_latent * wide
    shares, alone = hopper(), 1 - place.assumptions.lent_share
    device = place.setup.accelerator
    attn_rate = shares.attention_in(long) * float(device.peak("bf16")) * alone
    gemm_rate = shares.gemm * float(device.peak("fp8")) * alone
    more = attended / attn_rate + again / gemm_rate
    assert half["mla_s"] - none["mla_s"] == pytest.approx(more, rel=1e-12)
    rest = {"experts_s", "moe_elementwise_s", "all_to_all_s", "other_s", "host_s"}
    assert {name: none[name] for name in rest} == {name: half[name] for name in rest}


def test_what_the_twin_does_not_know_is_refused() -> None:
    place = twin(setup("h100-sxm", 32))
    size = {"prompt": 1024, "rows": 65_536}
    with pytest.raises(TypeError, match="the twin does not know balancednes"):
        prefill_s(place, **size, balancednes=0.1)
    slower = prefill_s(place, **size, balancedness=0.1)
    assert slower > 2 * prefill_s(place, **size)


def test_a_node_that_is_not_full_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"n_gpus must fill whole nodes of 8 .*, got 12"
    ):
        prefill_s(twin(setup("h100-sxm", 12)), prompt=64, rows=64)
