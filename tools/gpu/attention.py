"""Attention alone: of decode by splits, of whole prompts by library."""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from decode import Decode
from prefill import causal, fastest, prefix_error
from timing import (
    BF16,
    CUDA,
    DEVICE,
    GROUP,
    HEADS,
    KV_HEADS,
    WIDTH,
    noise,
    timed,
    turns_of,
)
from torch.nn.attention import SDPBackend, sdpa_kernel


def attention(small: bool) -> Iterator[dict]:
    def check() -> float:
        q, k = noise(3, HEADS, WIDTH), noise(3, KV_HEADS, 300, WIDTH)
        v, out = (
            noise(3, KV_HEADS, 300, WIDTH),
            torch.empty(3, HEADS, WIDTH, device=DEVICE, dtype=BF16),
        )
        Decode(3, HEADS, KV_HEADS, 3)(q, k, v, out, 300)
        wide = [x.repeat_interleave(GROUP, 1).double() for x in (k, v)]
        exact = F.scaled_dot_product_attention(q[:, :, None].double(), *wide)[:, :, 0]
        return float((out.double() - exact).norm() / exact.norm())

    error = check()
    yield {"what": "decode kernel's error", "relative": error}
    assert error < 1e-2, error
    # The runs of the Flash-Decoding report: 16 heads on 2 of keys and values.
    report = [(1, 131072), (1, 65536), (2, 32768), (8, 8192), (64, 1024), (256, 256)]
    ours = [
        (1, 1024),
        (1, 8192),
        (1, 32768),
        (1, 131072),
        (8, 8192),
        (64, 1024),
        (128, 1024),
        (256, 1024),
    ]
    cases = [(16, 2, *each) for each in report] + [
        (HEADS, KV_HEADS, *each) for each in ours
    ]
    for heads, kv_heads, batch, context in cases[:1] if small else cases:
        if small:
            context = 512
        size = 4 * batch * kv_heads * context * WIDTH
        turns = turns_of(size, 32)
        caches = [
            (
                noise(batch, kv_heads, context, WIDTH),
                noise(batch, kv_heads, context, WIDTH),
            )
            for _ in range(turns)
        ]
        q = noise(batch, heads, WIDTH)
        out = torch.empty_like(q)
        for splits in (1, 2) if small else (1, 2, 4, 8, 16, 32, 66, 128, 256):
            if context // splits < 64:
                continue
            run = Decode(batch, heads, kv_heads, splits)
            seconds = timed(lambda turn: run(q, *caches[turn], out, context), turns)
            yield {
                "what": "decode attention",
                "heads": heads,
                "kv_heads": kv_heads,
                "batch": batch,
                "context": context,
                "splits": splits,
                "bytes": size,
                "seconds": seconds,
            }
        if CUDA:
            with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                seconds = timed(
                    lambda turn: F.scaled_dot_product_attention(
                        q[:, :, None], *caches[turn], enable_gqa=True
                    ),
                    turns,
                )
            yield {
                "what": "decode attention",
                "heads": heads,
                "kv_heads": kv_heads,
                "batch": batch,
                "context": context,
                "splits": None,
                "bytes": size,
                "seconds": seconds,
            }
    if not CUDA:
        return
    for code in {fastest(), "FlashAttention-2"}:
        yield {
            "what": "chunk's error",
            "code": code,
            "relative": (error := prefix_error(code)),
        }
        assert error < 1e-2, error
        for n in (512, 1024, 2048, 4096, 8192, 16384, 32768, 65536):
            q = noise(1, HEADS, n, WIDTH)
            k, v = noise(1, KV_HEADS, n, WIDTH), noise(1, KV_HEADS, n, WIDTH)
            seconds = timed(lambda turn: causal(q, k, v, code))
            yield {
                "what": "prefill attention",
                "code": code,
                "tokens": n,
                "heads": HEADS,
                "kv_heads": KV_HEADS,
                "seconds": seconds,
            }
