"""Times of a ring, laid out hop by hop; and how far below its limit it still pays."""

from __future__ import annotations

from itertools import product

import pytest

from llmserve_lab import catalog
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import (
    DEVICE,
    MODEL,
    attending,
    fast_port,
    over,
    sizes_of,
)
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.ring_time import (
    BETWEEN,
    METHODS,
    Passed,
    RingTime,
    better,
    border_rows,
    first_token_s,
    follow_up_s,
    fresh,
    hiding_block,
    port_rate,
)

BIG = catalog.model("llama-3.1-405b")


def limit(model: catalog.ModelShape = MODEL) -> int:
    known = (sizes_of(model), attending(), over(BETWEEN))
    return round(float(f.RING_ROWS.at(*known)))


def by_hand(rows: int, ranks: int, gpus: int) -> float:
    """Seconds by which the attention of all layers ends later than without hops.

    Laid out for one GPU of a rank: its heads' part of a block, through its own port.
    """
    known = sizes_of(MODEL)
    rate = float(over(BETWEEN)["link_bw"]) * float(over(BETWEEN)["eff_link"])
    flops = float(DEVICE.peak("bf16")) * float(attending()["eff_compute"])
    layers = MODEL.n_layers
    heads = float(known["n_kv_heads"])
    mine = heads // gpus / heads
    hop_s = mine * rows * float(known["kv_bytes_per_token"]) / layers / rate
    step_s = mine * rows**2 / 2 * float(known["attn_flops_per_pair"]) / layers / flops
    late_s = 0.0
    for _ in range(layers):
        arrived = free = 0.0
        for hop in range(ranks):
            arrived = hop * hop_s if hop_s > step_s else arrived
            free = max(free, arrived) + step_s
        late_s += free - ranks * step_s
    return late_s


@pytest.mark.parametrize("gpus", [1, 4, 8])
@pytest.mark.parametrize(("rows", "ranks"), [(500, 4), (3148, 16), (7000, 4)])
def test_what_shows_is_what_attention_waits_for(
    rows: int, ranks: int, gpus: int
) -> None:
    shown = fresh(rows, ranks, tp=gpus).exposed_s
    assert shown == pytest.approx(by_hand(rows, ranks, gpus), rel=1e-6)


@pytest.mark.parametrize("method", ["pass-KV", "pass-Q"])
def test_as_many_ports_as_gpus_divide_hops_and_attention_alike(method: Passed) -> None:
    """So what hides on one GPU hides on a server of them; nothing else is divided."""
    one = follow_up_s(60_000, 3_000, 4, method, tp=1)
    for gpus in (2, 4, 8):
        many = follow_up_s(60_000, 3_000, 4, method, tp=gpus)
        assert [gpus * each for each in many] == pytest.approx(one)
    block = 128_000 / 4 * 2 * 128 * 2  # keys and values of one head, in a measured hop
    assert port_rate(4) == pytest.approx(4 * block / 627e-6)


def test_the_limit_is_where_hops_begin_to_show() -> None:
    for model in (MODEL, BIG):
        n = limit(model)
        assert fresh(round(0.99 * n), 4, model).exposed_s > 0
        assert fresh(round(1.01 * n), 4, model).exposed_s == 0
    assert limit(BIG) == pytest.approx(limit() / 2, abs=1)


def test_a_ring_below_its_limit_is_still_far_faster_than_one_rank() -> None:
    """Hops that show are no reason for one server: products are shared out as well."""
    half = fresh(limit() // 2, 16)
    assert half.exposed_s > 0.18 * half.seconds
    assert half.speedup > 11
    assert fresh(1000, 4).speedup > 2.8


def test_a_question_on_a_cached_prompt_waits_less_with_pass_q() -> None:
    hop, step, shown = follow_up_s(60_000, 3_000, 4, "pass-KV")
    assert hop > 4 * step and shown == pytest.approx(3 * (hop - step))
    q_hop, q_step, q_shown = follow_up_s(60_000, 3_000, 4, "pass-Q")
    assert q_hop < q_step == step
    assert 3 * shown / 4 > q_shown > 0  # its outputs come back in the open


def exposed_by_hand(old: int, new: int, ranks: int, method: Passed) -> float:
    """Seconds of one GPU a rank, hop by hop, from bytes and pairs that are counted."""
    known, rate = sizes_of(MODEL), port_rate()
    heads, width = float(known["n_heads"]), float(known["d_head"])
    flops = float(DEVICE.peak("bf16")) * float(attending()["eff_compute"])
    pairs = new * old + new * new / 2  # of all ranks and all blocks
    step_s = pairs / ranks**2 * float(known["attn_flops_per_pair"]) / flops
    rows, kept = new / ranks, (old + new) / ranks
    numbers = 2 * float(known["n_kv_heads"]) * width * kept
    if method == "pass-Q":
        numbers = heads * width * rows
    hop_s = 2 * MODEL.n_layers * numbers / rate
    late_s = (ranks - 1) * max(0.0, hop_s - step_s)
    found = 2 * MODEL.n_layers * heads * (width + 1) * rows / rate  # and a log-sum-exp
    return late_s + (method == "pass-Q") * (ranks - 1) * found


OLD = (0, 100, 3_000, 60_000, 200_000, 2_000_000)
NEW = (40, 400, 3_000, 6_000, 9_000, 13_000, 14_000, 30_000, 100_000)


@pytest.mark.parametrize("ranks", [2, 4, 16])
def test_what_goes_round_exposes_least_and_the_rule_of_the_page_says_which(
    ranks: int,
) -> None:
    """Both are laid out for every old and new; the rule of the page is the formula."""
    even = float(f.MISS_SHARE.at(sizes_of(MODEL)))
    enough = limit() / 2
    chosen = set()
    for old, new in product(OLD, NEW):
        times = {m: exposed_by_hand(old, new, ranks, m) for m in METHODS}
        for method, seconds in times.items():
            assert follow_up_s(old, new, ranks, method, tp=1)[2] == pytest.approx(
                seconds, rel=1e-9, abs=1e-12
            )
        best = better(old, new, ranks)
        assert times[best] == pytest.approx(min(times.values()), abs=1e-12)
        share, rows = new / (old + new), new / ranks
        kv = share >= even or rows >= border_rows(share)
        assert (best == "pass-KV") is kv
        if share >= even or rows >= enough:  # below, from about half of it on
            assert best == "pass-KV"
        elif rows < border_rows(even):
            assert best == "pass-Q"
        chosen.add((share >= even, rows >= enough, best))
    kv_by_rows, q = (False, True, "pass-KV"), (False, False, "pass-Q")
    assert {kv_by_rows, q, (True, False, "pass-KV")} <= chosen


def test_a_small_share_of_many_tokens_still_hides_pass_kv() -> None:
    """The example of the page: fewer bytes with pass-Q, less waiting with pass-KV."""
    old, new = 400_000, 40_000
    assert new / (old + new) < 0.75 * float(f.MISS_SHARE.at(sizes_of(MODEL)))
    assert follow_up_s(old, new, 4, "pass-KV")[2] == 0
    assert follow_up_s(old, new, 4, "pass-Q")[2] > 0.1
    assert new / 4 > 3.2 * limit() / 2  # also where the measured methods had turned
    assert better(old, new, 4) == "pass-KV"
    assert better(60_000, 3_000, 4) == "pass-Q"


@pytest.mark.parametrize("share", [0.002, 0.02, 0.05, 0.09, 0.12, 0.1244])
def test_at_the_border_both_expose_the_same(share: float) -> None:
    """Laid out from bytes and pairs: two per cent of the rows turn the choice."""
    for factor, best in ((0.98, "pass-Q"), (1.02, "pass-KV")):
        new = round(4 * factor * border_rows(share))
        old = round(new / share) - new
        kv_s, q_s = (exposed_by_hand(old, new, 4, method) for method in METHODS)
        assert METHODS[q_s < kv_s] == best
    assert border_rows(0) == pytest.approx(limit() / 2, rel=1e-3)
    assert border_rows(share) < border_rows(share / 2)
    slow, fast = (float(each["eff_link"]) for each in (over(BETWEEN), fast_port()))
    less = border_rows(share, fast_port())
    assert less == pytest.approx(border_rows(share) * slow / fast)


@pytest.mark.parametrize("new", [400, 4000])
def test_queries_hide_behind_a_block_of_so_many_tokens(new: int) -> None:
    """Whatever the number of new rows: sending and attention both grow with them."""
    for factor, hidden in ((0.99, False), (1.01, True)):
        old = round(factor * 4 * hiding_block() - new / 2)
        hop_s, step_s, _ = follow_up_s(old, new, 4, "pass-Q")
        assert (hop_s < step_s) is hidden


def test_a_prompt_on_two_servers_takes_half_of_one_and_what_shows() -> None:
    """One rank is a replica; of two each has half of rows and pairs, chunk by chunk."""
    for chunk in (2048, 4096):
        alone = first_token_s(8192, chunk, 1)
        assert alone.exposed_s == 0
        replica = GpuLayout(tp=4).first_token_s(8192, chunk)
        assert alone.seconds == pytest.approx(replica)
    two = first_token_s(8192, 2048, 2)
    hops = [exposed_by_hand(done, 4096, 2, "pass-KV") / 4 for done in (0, 4096)]
    assert two.exposed_s == pytest.approx(sum(hops))
    half = GpuLayout(tp=4).first_token_s(8192, 2048) / 2  # the same rows in a pass
    assert half < two.seconds - two.exposed_s + 1e-3 and two.seconds < 1.05 * half
    pipe = GpuLayout(tp=4, stages=2, between=BETWEEN).first_token_s(8192, 2048)
    assert pipe > 1.1 * two.seconds


def test_a_ring_refuses_what_it_cannot_share() -> None:
    with pytest.raises(ValueError, match="must divide the prompt, 10, got 4"):
        first_token_s(10, 2, 2)
    with pytest.raises(ValueError, match="share must be from 0"):
        border_rows(0.2)
    assert RingTime(1.0, 1.0, 4.0).speedup == 2
    with pytest.raises(ValueError, match="ranks must be at least 1, got 0"):
        fresh(10, 0)
    with pytest.raises(ValueError, match="method must be"):
        follow_up_s(1, 1, 2, "decode")  # type: ignore[arg-type]
