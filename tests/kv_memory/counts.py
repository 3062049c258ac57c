"""The chapter's closed forms, counted: blocks really taken, tokens really held."""

from __future__ import annotations

import math
import random

import numpy as np

from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.paged_cache import NoFreeBlockError, PagedAllocator
from llmserve_lab.transformer import KVCache, Meter, Transformer, tiny_shape
from llmserve_lab.transformer.paged import PagedKVStore
from tests.counted import Case, counts


def room(rng: random.Random) -> dict[str, float]:
    """A GPU of a few kilobytes, which some weights fit into."""
    return {
        "n_ranks": rng.randint(1, 4),
        "memory_share": rng.choice([0.5, 0.75, 0.9]),
        "usable_bytes": rng.randint(5_000, 9_000),
        "beside_bytes": rng.randint(0, 300),
        "params_total": rng.randint(10, 500),
        "bytes_weight": rng.choice([1.0, 2.0]),
    }


@counts(f.CACHE_BYTES, by="enumerated")
def cache_bytes(rng: random.Random) -> Case:
    """Deal the weights out to the GPUs, one part each, and add up what is left."""
    known = room(rng)
    n_ranks, weights = (
        int(known["n_ranks"]),
        known["params_total"] * known["bytes_weight"],
    )
    left = 0.0
    for _ in range(n_ranks):
        allowed = known["memory_share"] * known["usable_bytes"]
        left += allowed - known["beside_bytes"] - weights / n_ranks
    return Case(f.CACHE_BYTES.given(known), left)


@counts(f.BLOCK_BYTES, by="executed")
def block_bytes(rng: random.Random) -> Case:
    """Weigh one block of the transformer's store."""
    shape, size = tiny_shape(n_layers=rng.randint(1, 3)), rng.randint(1, 9)
    store = PagedKVStore(shape, num_blocks=1, block_tokens=size)
    held = sum(array.nbytes for array in store.blocks.values())
    per_token = shape.kv_bytes_per_token(8)
    return Case({"block_tokens": size, "kv_bytes_per_token": per_token}, held)


def filled(rng: random.Random) -> tuple[dict[str, float], int, PagedAllocator]:
    """Take blocks out of a memory, byte by byte, until none fits any more."""
    known = room(rng) | {
        "block_tokens": rng.randint(1, 8),
        "kv_bytes_per_token": rng.randint(5, 30),
    }
    left = float(f.CACHE_BYTES.at(known))
    block = known["block_tokens"] * known["kv_bytes_per_token"]
    count = 0
    while left >= block:
        left, count = left - block, count + 1
    return known, count, PagedAllocator(count, int(known["block_tokens"]))


@counts(f.NUM_BLOCKS, by="enumerated")
def num_blocks(rng: random.Random) -> Case:
    known, count, _ = filled(rng)
    return Case(f.NUM_BLOCKS.given(known), count, read=math.floor)


@counts(f.CACHE_TOKENS, by="executed")
def cache_tokens(rng: random.Random) -> Case:
    """Append tokens to one request until the allocator has no block left."""
    known, _, paged = filled(rng)
    paged.admit("all", [0])
    try:
        while True:
            paged.append("all", 0)
    except NoFreeBlockError:
        held = len(paged.tokens("all"))
    size = int(known["block_tokens"])
    return Case(
        f.CACHE_TOKENS.given(known), held, read=lambda most: most // size * size
    )


@counts(f.PAGED_REQUESTS, by="executed")
def paged_requests(rng: random.Random) -> Case:
    """Admit requests of whole blocks until the next one does not fit."""
    known, count, paged = filled(rng)
    size = int(known["block_tokens"])
    held = size * rng.randint(1, count)
    number = 0
    try:
        while True:
            paged.admit(number, [number + 1] * held)
            number += 1
    except NoFreeBlockError:
        known = known | {"mean_held": held}
        return Case(
            f.PAGED_REQUESTS.given(known),
            number,
            read=lambda most: most * held // size * size // held,
        )


@counts(f.REQUEST_CACHE_BYTES, by="enumerated")
def request_cache_bytes(rng: random.Random) -> Case:
    """Fill layers of three kinds token by token; a window drops its oldest."""
    full, windowed, state = (rng.randint(0, 3) for _ in range(3))
    per_layer, window, context = 4 * rng.randint(1, 4), rng.randint(1, 20), 0
    layers: list[list[int]] = [[] for _ in range(full + windowed)]
    for context in range(1, rng.randint(2, 40)):
        for number, held in enumerate(layers):
            held.append(context)
            if number >= full and len(held) > window:
                held.pop(0)
    total = sum(map(len, layers)) * per_layer + state * per_layer
    known = {
        "full_token_bytes": full * per_layer,
        "window_token_bytes": windowed * per_layer,
        "state_bytes": state * per_layer,
        "window": window,
        "mean_held": context,
    }
    if total == 0:
        return request_cache_bytes(rng)
    return Case(known, total)


@counts(f.RESERVED_SHARE, by="executed")
def reserved_share(rng: random.Random) -> Case:
    """Contiguous caches of one size, filled to different lengths."""
    shape, longest = tiny_shape(n_layers=1), rng.randint(5, 20)
    lengths = [rng.randint(1, longest) for _ in range(4)]
    used = whole = 0
    for length in lengths:
        cache = KVCache(shape, capacity_tokens=longest)
        cache.length = length
        used, whole = used + cache.num_bytes, whole + cache.capacity_bytes
    known = {"mean_held": sum(lengths) / 4, "reserved_len": longest}
    return Case(known, used / whole)


@counts(f.PAGED_SHARE, by="executed")
def paged_share(rng: random.Random) -> Case:
    """One request of each length from a whole number of blocks on to the next."""
    size, first = rng.randint(1, 8), rng.randint(0, 4)
    lengths = range(first * size + 1, (first + 1) * size + 1)
    paged = PagedAllocator(1_000, size)
    for number, length in enumerate(lengths):
        paged.admit(number, [number + 1] * length)
    taken = size * (1_000 - paged.pool.num_free)
    mean = sum(lengths) / len(lengths)
    return Case({"mean_held": mean, "block_tokens": size}, sum(lengths) / taken)


@counts(f.SHARING_SHARE, by="executed")
def sharing_share(rng: random.Random) -> Case:
    """Samples forked from one prompt, beside the same with prompts of their own."""
    size, samples = rng.randint(1, 5), rng.randint(1, 5)
    prompt, answer = size * rng.randint(1, 6), size * rng.randint(1, 6)
    taken = []
    for shares in (True, False):
        paged = PagedAllocator(1_000, size, prefix_caching=False)
        paged.admit(0, [1] * prompt)
        for sample in range(1, samples):
            if shares:
                paged.fork(0, sample)
            else:
                paged.admit(sample, [1] * prompt)
        for sample in range(samples):
            for _ in range(answer):
                paged.append(sample, sample)
        taken.append(1_000 - paged.pool.num_free)
    known = {"num_samples": samples, "prompt_len": prompt, "new_tokens": answer}
    return Case(known, 1 - taken[0] / taken[1])


def machine(rng: random.Random) -> dict[str, float]:
    """A link to the host and a GPU, both slow."""
    return {
        "host_bw": 1e6 * rng.randint(1, 9),
        "peak_flops": 1e9 * rng.randint(1, 9),
        "eff_compute": rng.choice([0.5, 1.0]),
    }


@counts(f.SWAP_S, by="executed")
def swap_s(rng: random.Random) -> Case:
    """Swap a request out of the store and in again; weigh what leaves and arrives."""
    shape, tokens = tiny_shape(n_layers=rng.randint(1, 3)), rng.randint(1, 20)
    size = rng.randint(1, 5)
    store = PagedKVStore(shape, num_blocks=20, block_tokens=size, prefix_caching=False)
    model, cache = Transformer(shape), store.admit("one", [1] * tokens)
    model.forward([1] * tokens, cache)
    copy = store.swap_out("one")
    for array in store.blocks.values():
        array[:] = 0.0
    store.swap_in("one", copy)
    arrived = sum(8 * np.count_nonzero(array) for array in store.blocks.values())
    moved = sum(array.nbytes for array in copy.held.values()) + arrived
    known = machine(rng) | {
        "kv_bytes_per_token": shape.kv_bytes_per_token(8),
        "n_rows": tokens,
    }
    return Case(f.SWAP_S.given(known), moved / known["host_bw"])


@counts(f.REDO_S, by="executed")
def redo_s(rng: random.Random) -> Case:
    """Run the tokens through the model again, its weight products metered."""
    model, tokens = (
        Transformer(tiny_shape(n_layers=rng.randint(1, 3))),
        rng.randint(1, 9),
    )
    meter = Meter()
    model.forward([1] * tokens, run=meter.on())
    known = machine(rng) | {
        "n_rows": tokens,
        "params_active": model.weights.num_params - looked_up(model),
    }
    rate = known["peak_flops"] * known["eff_compute"]
    return Case(f.REDO_S.given(known), meter.linear_flops / rate)


def looked_up(model: Transformer) -> int:
    """Numbers of the embedding table and of the norms: no product reads them."""
    arrays = model.weights.arrays.items()
    return sum(a.size for n, a in arrays if n == "embed_tokens" or a.ndim < 3)


@counts(f.SWAP_BW, by="enumerated")
def swap_bw(rng: random.Random) -> Case:
    """Halve an interval of bandwidths until both times are the same."""
    known = machine(rng) | {
        "kv_bytes_per_token": 1024.0 * rng.randint(1, 9),
        "n_rows": rng.randint(1, 50),
        "params_active": 1000.0 * rng.randint(1, 9),
    }
    redo = float(f.REDO_S.at(known))
    low, high = 1.0, 1e18
    for _ in range(200):
        middle = math.sqrt(low * high)
        swap = float(f.SWAP_S.at(known | {"host_bw": middle}))
        low, high = (middle, high) if swap > redo else (low, middle)
    return Case(f.SWAP_BW.given(known), low)


@counts(f.REQUESTS_FIT, by="enumerated")
def requests_fit(rng: random.Random) -> Case:
    """Subtract one request after the other from what is left for the cache."""
    known = room(rng) | dict(request_cache_bytes(rng).values)
    left, count = float(f.CACHE_BYTES.at(known)), 0
    while left >= (each := float(f.REQUEST_CACHE_BYTES.at(known))):
        left, count = left - each, count + 1
    return Case(f.REQUESTS_FIT.given(known), count, read=math.floor)
