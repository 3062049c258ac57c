"""Splits of a decode: merged on arrays, and dealt out to multiprocessors one by one."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from itertools import product

import numpy as np

from llmserve_lab.flash_attention import formulas as f
from llmserve_lab.transformer import HbmMeter, RunningSoftmax, merge, split_decode
from llmserve_lab.transformer.online_softmax import Partial
from tests.counted import Case, counts

Setting = dict[str, float]


@counts(f.RUNNING_SUM, by="executed")
def running_sum(rng: random.Random) -> Case:
    """Two tiles pass the running softmax; what it holds in between is asked of it."""
    first, second = (
        [rng.gauss(0, 3) for _ in range(n)] for n in (3, rng.randint(1, 4))
    )
    state = RunningSoftmax.empty((1,), 1)
    state.add(np.array([first]), np.ones((len(first), 1)))
    known = {"sum_before": float(state.total[0]), "max_before": float(state.highest[0])}
    state.add(np.array([second]), np.ones((len(second), 1)))
    known["max_now"] = float(state.highest[0])
    known["tile_sum"] = float(np.exp(np.array(second) - known["max_now"]).sum())
    return Case(known, float(state.total[0]))


@counts(f.MERGED_OUT, by="executed")
def merged_out(rng: random.Random) -> Case:
    outs, logs = ([rng.gauss(0, 2) for _ in range(2)] for _ in range(2))
    parts = [
        Partial(np.array([out]), np.array(log))
        for out, log in zip(outs, logs, strict=True)
    ]
    known = dict(zip(("out_1", "out_2", "lse_1", "lse_2"), outs + logs, strict=True))
    return Case(known, float(merge(parts).output[0]))


def drawn(rng: random.Random) -> Setting:
    n_kv = rng.randint(1, 3)
    return {
        "batch": float(rng.randint(1, 4)),
        "n_kv_heads": float(n_kv),
        "n_heads": float(n_kv * rng.randint(1, 3)),
        "d_head": float(rng.randint(1, 5)),
        "n_split": float(rng.randint(1, 6)),
        "context": float(rng.randint(6, 40)),
        "tile_keys": float(rng.randint(1, 4)),
        "n_sms": float(rng.randint(1, 7)),
        "bytes_kv": 2.0,
        "bytes_sum": 4.0,
        "hbm_bw": 3e3,
        "eff_mem": rng.choice((0.5, 1.0)),
        "block_bw": rng.choice((2e2, 1e3, 5e3)),
        "launch_s": 0.25,
    }


def blocks(known: Setting) -> Iterator[float]:
    """The bytes that each thread block reads, all as much as the longest of a head."""
    tiles = -(-int(known["context"]) // int(known["tile_keys"]))
    dealt = [0] * int(known["n_split"])
    for tile in range(tiles):
        dealt[tile % len(dealt)] += 1
    for _request in range(int(known["batch"])):
        for _head in range(int(known["n_kv_heads"])):
            for _split in range(int(known["n_split"])):
                keys = max(dealt) * known["tile_keys"]
                yield 2 * keys * known["d_head"] * known["bytes_kv"]


def dealt_out(known: Setting) -> list[tuple[int, float, float]]:
    """(multiprocessor, start, end) of each block: the next free one takes the next."""
    speed = known["block_bw"]
    free = [(0.0, sm) for sm in range(int(known["n_sms"]))]
    done = []
    for size in blocks(known):
        start, sm = heapq.heappop(free)
        heapq.heappush(free, (start + size / speed, sm))
        done.append((sm, start, start + size / speed))
    return done


def memory_s(known: Setting) -> float:
    """All keys and values of all heads, one by one, at the whole bandwidth."""
    heads = int(known["batch"] * known["n_kv_heads"])
    total = 0.0
    for _head, _key in product(range(heads), range(int(known["context"]))):
        total += 2 * known["d_head"] * known["bytes_kv"]
    return total / (known["hbm_bw"] * known["eff_mem"])


def splits_done_s(known: Setting) -> float:
    """The last block's end, or when memory is through, whichever comes later."""
    return max(memory_s(known), *(end for _, _, end in dealt_out(known)))


def merged_bytes(known: Setting, rng: random.Random) -> float:
    """What a batch of decodes writes and reads for its merges."""
    total = 0.0
    heads, n_kv, d = (int(known[n]) for n in ("n_heads", "n_kv_heads", "d_head"))
    source = np.random.default_rng(rng.randint(0, 99))
    for _request in range(int(known["batch"])):
        hbm = HbmMeter()
        size = (2, int(known["context"]), n_kv, d)
        key, value = source.standard_normal(size)
        split_decode(
            source.standard_normal((heads, d)), key, value,
            n_split=int(known["n_split"]), tile_keys=4, hbm=hbm,
        )  # fmt: skip
        for name in ("partial output", "log-sum-exp"):
            total += hbm.reads[name] + hbm.writes[name]
    return total * known["bytes_sum"]


def merge_s(known: Setting, rng: random.Random) -> float:
    if known["n_split"] < 2:
        return 0.0
    reached = known["hbm_bw"] * known["eff_mem"]
    return known["launch_s"] + merged_bytes(known, rng) / reached


@counts(f.WORK_BLOCKS, by="enumerated")
def work_blocks(rng: random.Random) -> Case:
    known = drawn(rng)
    return Case(f.WORK_BLOCKS.given(known), len(list(blocks(known))))


@counts(f.BUSY_SHARE, by="enumerated")
def busy_share(rng: random.Random) -> Case:
    """Multiprocessors that got a block at the start."""
    known = drawn(rng)
    first = {sm for sm, start, _ in dealt_out(known) if start == 0}
    return Case(f.BUSY_SHARE.given(known), len(first) / known["n_sms"])


@counts(f.WAVES, by="enumerated")
def waves(rng: random.Random) -> Case:
    """Blocks of the busiest multiprocessor."""
    known = drawn(rng)
    taken = [sm for sm, _, _ in dealt_out(known)]
    return Case(f.WAVES.given(known), max(map(taken.count, taken)))


@counts(f.SPLIT_READ_S, by="enumerated")
def split_read_s(rng: random.Random) -> Case:
    """When the last block is done, if memory has passed every key by then."""
    known = drawn(rng)
    return Case(f.SPLIT_READ_S.given(known), splits_done_s(known))


@counts(f.MERGE_BYTES, by="executed")
def merge_bytes(rng: random.Random) -> Case:
    known = drawn(rng)
    known["n_split"] = max(2.0, known["n_split"])
    return Case(f.MERGE_BYTES.given(known), merged_bytes(known, rng))


@counts(f.MERGE_S, by="executed")
def merge_time(rng: random.Random) -> Case:
    known = drawn(rng)
    return Case(f.MERGE_S.given(known), merge_s(known, rng))


@counts(f.DECODE_ATTN_S, by="executed")
def decode_attn_s(rng: random.Random) -> Case:
    known = drawn(rng)
    given = f.DECODE_ATTN_S.given(known)
    return Case(given, splits_done_s(known) + merge_s(known, rng))


@counts(f.LEAST_READ_S, by="enumerated")
def least_read_s(rng: random.Random) -> Case:
    """All keys and values of all heads, one by one, at the whole bandwidth."""
    known = drawn(rng)
    return Case(f.LEAST_READ_S.given(known), memory_s(known))
