"""The cost of an iteration is the roofline's, on one device and on several."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab import catalog
from llmserve_lab.catalog.arguments import machine, wire, workload
from llmserve_lab.catalog.evidence.servers import VLLM_ROOM
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.collectives import formulas as wires
from llmserve_lab.engine import IterationCost, IterationLoad
from llmserve_lab.roofline import formulas as f

H100 = catalog.accelerator("h100-sxm")
LLAMA_2 = catalog.model("llama-2-7b")
LLAMA_3 = catalog.model("llama-3-70b")
NVLINK = catalog.link("nvlink4")
COST = IterationCost.of(LLAMA_2, H100)


def load(*, batch: int, chunk: int, context: int) -> IterationLoad:
    total = IterationLoad(0, 0, 0)
    for _ in range(batch):
        total = total.plus(IterationLoad.of(chunk=chunk, context=context))
    return total


def test_pairs_are_counted_row_by_row() -> None:
    assert IterationLoad.of(chunk=3, context=5)[:3] == (3, 6 + 7 + 8, 5)
    # decode is a chunk of one, and no prompt
    assert IterationLoad.of(chunk=1, context=9) == (1, 10, 9, 1, 0)


@given(
    batch=st.integers(1, 40), chunk=st.integers(1, 2048), context=st.integers(0, 8192)
)
def test_a_batch_of_equals_takes_as_long_as_the_roofline_says(
    batch: int, chunk: int, context: int
) -> None:
    known = workload(LLAMA_2) | machine(H100)
    size = {"batch": batch, "chunk": chunk, "context": context}
    expected = float(f.ITERATION_S.at(known, size))
    assert COST.seconds(load(**size)) == pytest.approx(expected, rel=1e-9)


def test_several_devices_share_rows_and_weights_and_pay_for_it() -> None:
    eight = IterationCost.of(LLAMA_3, H100, tp=8, link=NVLINK)
    one = IterationCost.of(LLAMA_3, H100)
    assert eight.row_s == pytest.approx(one.row_s / 8)
    assert eight.pair_s == pytest.approx(one.pair_s / 8)
    assert eight.weights_s == pytest.approx(one.weights_s / 8)
    assert eight.kv_token_s == pytest.approx(one.kv_token_s / 8)
    known = wire(NVLINK)
    along = known | {"n_ranks": 8, "start_s": known["link_latency"], "link_latency": 0}
    row_bytes = 2 * LLAMA_3.d_model  # 16 bits each
    reduce_s = float(wires.ALL_REDUCE_S.at(along, tensor_bytes=100 * row_bytes))
    expected = 2 * LLAMA_3.n_layers * reduce_s
    assert eight.fixed_s(100) == pytest.approx(expected)
    assert one.fixed_s(100) == 0


def test_a_collective_goes_one_way_over_the_link() -> None:
    """Twice the speed, as the headline counts both ways, would be too fast."""
    eight = IterationCost.of(LLAMA_3, H100, tp=8, link=NVLINK)
    sent = 2 * LLAMA_3.n_layers * 2 * 7 / 8 * 2 * LLAMA_3.d_model
    assert eight.collective_row_s == pytest.approx(sent / float(NVLINK.bandwidth))


def test_the_cache_is_that_of_kv_heads_and_copied_where_they_are_few() -> None:
    heads = LLAMA_3.attention
    assert isinstance(heads, GroupedQueryAttention)
    assert heads.n_heads == 8 * heads.n_kv_heads
    full = 2 * LLAMA_3.n_layers * LLAMA_3.d_model * 2
    cost = IterationCost.of(LLAMA_3, H100, tp=8, link=NVLINK)
    assert cost.kv_bytes_per_token == full / 8
    many = IterationCost.of(LLAMA_3, H100, tp=16, link=catalog.link("infiniband-ndr"))
    assert many.kv_copies == 2 and cost.kv_copies == 1
    assert many.kv_token_s == pytest.approx(cost.kv_token_s)  # the same on each device


def test_a_latent_is_copied_to_every_device() -> None:
    shape = catalog.model("deepseek-v3")
    gpu = catalog.accelerator("h200-sxm")
    cost = IterationCost.of(shape, gpu, precision="fp8", tp=8, link=NVLINK)
    assert cost.kv_copies == 8
    whole_s = shape.kv_bytes_per_token(1) / float(gpu.hbm_bw)
    assert cost.kv_token_s == pytest.approx(whole_s)


def test_no_result_lies_below_the_floor_of_reading_the_weights() -> None:
    floor_s = 2 * LLAMA_2.params_read / float(H100.hbm_bw)
    assert COST.seconds(IterationLoad.of(chunk=1)) >= floor_s
    assert COST.seconds(IterationLoad.of(chunk=1)) == pytest.approx(floor_s, rel=1e-3)


def test_the_cache_is_read_once() -> None:
    more = COST.memory_s(IterationLoad(1, 1, 1_000)) - COST.memory_s(
        IterationLoad(1, 1, 0)
    )
    once = 1_000 * LLAMA_2.kv_bytes_per_token() / float(H100.hbm_bw)
    assert more == pytest.approx(once)


@given(
    target_ms=st.floats(1, 200),
    decodes=st.integers(0, 200),
    cached=st.integers(0, 4096),
    context=st.integers(0, 100_000),
    overlap=st.sampled_from([0.0, 0.7, 1.0]),
)
def test_the_chunk_found_is_the_largest_that_is_in_time(
    target_ms: float, decodes: int, cached: int, context: int, overlap: float
) -> None:
    base = load(batch=decodes, chunk=1, context=cached)
    target_s = target_ms / 1e3
    cost = replace(COST, overlap=overlap)

    def in_time(chunk: int) -> bool:
        total = base.plus(IterationLoad.of(chunk=chunk, context=context))
        return cost.seconds(total) <= target_s * (1 + 2e-12)

    chunk = cost.chunk_within(target_s, load=base, context=context)
    assert chunk == 0 or in_time(chunk)
    assert not in_time(chunk + 1)


def test_what_does_not_overlap_is_added() -> None:
    two = IterationLoad.of(chunk=300, context=5_000)
    bills = COST.compute_s(two), COST.memory_s(two)
    for overlap, expected in ((1, max(bills)), (0, sum(bills))):
        cost = replace(COST, overlap=overlap, overhead_s=0.002)
        assert cost.seconds(two) == pytest.approx(expected + 0.002)
    half = replace(COST, overlap=0.5).seconds(two)
    assert half == pytest.approx((max(bills) + sum(bills)) / 2)


def test_a_latency_may_be_given_where_none_is_published() -> None:
    link = catalog.link("nvlink3")
    with pytest.raises(ValueError, match="link_latency_s must be given for NVLink 3"):
        IterationCost.of(LLAMA_3, H100, tp=8, link=link)
    some, none = (
        IterationCost.of(LLAMA_3, H100, tp=8, link=link, link_latency_s=latency_s)
        for latency_s in (1e-6, 0.0)
    )
    calls = 2 * LLAMA_3.n_layers  # all-reduces, each of one latency
    assert some.collective_s == pytest.approx(calls * 1e-6)
    assert none.collective_s == 0
    assert none.collective_row_s == pytest.approx(some.collective_row_s)


@pytest.mark.parametrize("tp", [3, 12, 128])
def test_no_cut_falls_inside_a_head(tp: int) -> None:
    with pytest.raises(ValueError, match=f"tp must divide the 64 heads, .* got {tp}"):
        IterationCost.of(LLAMA_3, H100, tp=tp, link=NVLINK)


def test_blocks_of_cache_come_near_a_published_count() -> None:
    """Of what the driver shows, under two per cent is neither weights nor cache."""
    room = VLLM_ROOM
    assert (room.model, room.accelerator) == (LLAMA_2.key, H100.key)
    found = COST.kv_blocks(utilisation=room.utilisation, block_tokens=room.block_tokens)
    sheet = IterationCost.of(LLAMA_2, H100, usable_memory=False).kv_blocks()
    assert sheet / float(room.blocks) == pytest.approx(0.935, abs=0.003)
    assert 1 < found / float(room.blocks) < 1.015  # nothing is reserved here
    assert COST.kv_blocks() == found < COST.kv_blocks(utilisation=1)
    assert COST.kv_blocks(block_tokens=1) // 16 == found


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="row_s must be finite and at least 0, got -1"):
        IterationCost(row_s=-1)
    with pytest.raises(ValueError, match=r"overlap must be in \[0, 1\], got 2"):
        IterationCost(row_s=1, overlap=2)
    with pytest.raises(TypeError, match="model must be of type ModelShape, got 'llama"):
        IterationCost.of("llama-3-8b", H100)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="link must be of type Link, got 'nvlink4'"):
        IterationCost.of(LLAMA_2, H100, tp=2, link="nvlink4")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one row must take time"):
        IterationCost(kv_token_s=1)
    with pytest.raises(ValueError, match="link must join the 2 devices, got None"):
        IterationCost.of(LLAMA_2, H100, tp=2)
    with pytest.raises(ValueError, match="tp must be at least 1 device, got 0"):
        IterationCost.of(LLAMA_2, H100, tp=0)
    with pytest.raises(ValueError, match="memory must hold the weights"):
        IterationCost.of(LLAMA_3, H100).kv_blocks()
    with pytest.raises(ValueError, match=r"utilisation must be in \(0, 1\], got 90"):
        COST.kv_blocks(utilisation=90)
    with pytest.raises(LookupError, match="precision must be one that H100 SXM"):
        IterationCost.of(LLAMA_2, H100, precision="fp3")
    with pytest.raises(ValueError, match="block_tokens must be at least 1 token"):
        COST.kv_blocks(block_tokens=0)
    with pytest.raises(ValueError, match="chunk and context must be at least 0 rows"):
        IterationLoad.of(chunk=-1)
    with pytest.raises(ValueError, match="kv_bytes_per_token must be positive"):
        IterationCost(row_s=1).kv_blocks()
