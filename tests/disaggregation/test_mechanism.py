"""The pipeline, the tiers and the fleet do what they say, and refuse what cannot be."""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.catalog.tiers import HOST_DRAM, NVME_SSD, TIERS
from llmserve_lab.disaggregation import fleet
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.handoff import hand_over, late_s, timeline
from llmserve_lab.disaggregation.tiers import TieredStore, replay
from llmserve_lab.engine import Request

times = st.floats(0.01, 100)


@given(st.integers(1, 40), times, times)
def test_the_pipeline_ends_where_the_closed_form_says(
    n_layers: int, prefill_s: float, transfer_s: float
) -> None:
    here = {"n_layers": n_layers, "prefill_s": prefill_s, "transfer_s": transfer_s}
    by_layers = late_s(hand_over(**here, streamed=True))  # type: ignore[arg-type]
    at_the_end = late_s(hand_over(**here, streamed=False))  # type: ignore[arg-type]
    assert by_layers == pytest.approx(float(f.EXPOSED_S(**here)), rel=1e-6)
    assert at_the_end == pytest.approx(transfer_s)
    assert by_layers <= at_the_end * (1 + 1e-9)


@given(st.integers(1, 20), times, times, st.booleans())
def test_no_layer_is_sent_before_it_is_made_nor_two_at_once(
    n_layers: int, prefill_s: float, transfer_s: float, streamed: bool
) -> None:
    layers = hand_over(
        n_layers=n_layers,
        prefill_s=prefill_s,
        transfer_s=transfer_s,
        streamed=streamed,
    )
    assert len(layers) == n_layers
    assert all(layer.begun_s >= layer.made_s for layer in layers)
    pairs = pairwise(layers)
    assert all(one.sent_s <= other.begun_s for one, other in pairs)


def test_the_timeline_says_what_outlasts_the_prefill() -> None:
    known = fleet.sizes(n_layers=4)
    keys = ("infiniband-ndr",)
    drawn = timeline(known, prompt_len=4096, links=keys)
    assert "NDR, at the end 10.7 ms; NDR, by layers 2.68 ms" in drawn.sentence


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: hand_over(n_layers=0, prefill_s=1, transfer_s=1, streamed=True),
            "n_layers must be at least 1, got 0",
        ),
        (
            lambda: hand_over(n_layers=1, prefill_s=-1, transfer_s=1, streamed=True),
            "prefill_s must be at least 0, got -1",
        ),
        (lambda: TieredStore(()), "capacities must be 0 blocks or more"),
        (lambda: TieredStore((1, -1)), "capacities must be 0 blocks or more"),
    ],
)
def test_what_cannot_be_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


@settings(max_examples=30)
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


def test_a_sweep_of_splits_is_what_each_split_is() -> None:
    splits = partial(
        fleet.splits, n_gpus=3, prompt_len=16_384, new_tokens=20, tbt_target=0.015
    )
    with ThreadPoolExecutor(2) as executor:
        found = splits(executor=executor)
    assert repr(found) == repr(splits())
    assert [row[0] for row in found.rows] == ["1P:2D", "2P:1D"]
    assert all(float(str(row[3])) == pytest.approx(1, abs=0.06) for row in found.rows)


def test_the_simulated_rates_are_those_of_the_closed_forms() -> None:
    found = fleet.rates_table(32_768, new_tokens=50, tbt_target=0.02)
    for row in found.rows:
        _, one, one_simulated, two, two_simulated = (float(str(cell)) for cell in row)
        assert one_simulated == pytest.approx(one, rel=0.03)
        assert two_simulated == pytest.approx(two, rel=0.03)


def test_the_simulated_wait_is_that_of_a_queue() -> None:
    for row in fleet.wait_table(prompt_len=2048).rows:
        assert float(str(row[3])) == pytest.approx(1, abs=0.06)
