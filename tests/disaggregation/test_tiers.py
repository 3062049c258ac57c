"""Tiers hold what was used last, and find what was computed once."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.tiers import HOST_DRAM, NVME_SSD, TIERS
from llmserve_lab.disaggregation import tiers
from llmserve_lab.disaggregation.tiers import TieredStore, replay
from llmserve_lab.engine import Request
from tests.depth import examples


@settings(max_examples=examples(30))
@given(st.lists(st.integers(0, 9), max_size=60), st.tuples(*[st.integers(0, 4)] * 3))
def test_tiers_hold_the_latest_blocks_in_order(
    blocks: list[int], capacities: tuple[int, int, int]
) -> None:
    """One list in order of use, cut where the tiers end."""
    store, latest = TieredStore(capacities), list[int]()
    for block in blocks:
        ends = [sum(capacities[: i + 1]) for i in range(3)]
        where = latest.index(block) if block in latest else None
        want = None
        if where is not None:
            want = next((i for i, end in enumerate(ends) if where < end), None)
        assert store.find(block) == want
        store.put(block)
        latest = [block, *(each for each in latest if each != block)]
    held = sum(len(tier) for tier in store.tiers)
    assert held == min(len(latest), sum(capacities))


def prompts(rng: random.Random, count: int) -> list[Request]:
    """Prompts that share beginnings: blocks of 4 tokens, the last perhaps shorter."""
    found = []
    for number in range(count):
        shared, own = rng.randint(0, 3), rng.randint(1, 3)
        prefix = (*range(shared), *(100 * number + i for i in range(own)))
        length = 4 * len(prefix) - rng.randint(0, 3)
        found.append(
            Request(
                arrival_s=number,
                prompt_len=length,
                output_len=1,
                id=number,
                prefix=prefix,
            )
        )
    return found


def test_every_token_is_found_or_computed() -> None:
    requests = prompts(random.Random(1), 60)
    total = sum(each.prompt_len for each in requests)
    for capacities in ((0, 0), (3, 5), (1000, 0)):
        reuse = replay(requests, capacities=capacities, block_tokens=4)
        assert sum(reuse.found_tokens) + reuse.computed_tokens == total
        assert 0 <= reuse.share < 1
    assert reuse.found_tokens[0] > 0 == reuse.found_tokens[1]


def test_an_endless_store_finds_all_that_was_seen() -> None:
    """Against a reader who remembers every block of every prompt."""
    requests = prompts(random.Random(2), 60)
    seen: set[int] = set()
    want = 0
    for each in requests:
        known = 0
        while known < len(each.prefix) and each.prefix[known] in seen:
            known += 1
        want += min(4 * known, each.prompt_len - 1)
        seen.update(each.prefix)
    reuse = replay(requests, capacities=(10**6,), block_tokens=4)
    assert reuse.found_tokens == (want,)


def test_tiers_grow_as_they_slow_down() -> None:
    sizes = [float(tier.bytes) for tier in TIERS]
    rates = [float(tier.bandwidth) for tier in TIERS]
    assert sizes == sorted(sizes) and rates == sorted(rates, reverse=True)
    assert float(NVME_SSD.bandwidth) == 31.5e9 / 4
    assert "2 TB for 8" in HOST_DRAM.bytes.note


def test_the_first_tier_is_the_memory_of_the_gpu_in_question() -> None:
    model = catalog.model("llama-3-8b")
    for key in ("a100-80-sxm", "h100-sxm", "h200-sxm"):
        gpu = catalog.accelerator(key)
        left = 0.9 * float(gpu.usable_bytes) - 2 * float(model.params_total)
        assert tiers.room_bytes(model, gpu) == pytest.approx(left, rel=1e-9)
        first = tiers.table(model, gpu, prefix_len=8192).rows[0]
        assert (first[0], first[3]) == ("HBM", "used in place")
    large = catalog.model("llama-3-70b")
    with pytest.raises(ValueError, match=r"smaller than H100 .* Llama-3-70B with 141"):
        tiers.table(large, catalog.accelerator("h100-sxm"), prefix_len=8192)
