"""Iterations of Llama-3.1-8B: decode steps, prompts, and chunks beside decodes."""

import statistics
import time
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from model import Model, Pass
from prefill import fastest
from timing import BF16, CUDA, DEVICE, FP8, GROUP, HEADS, KV_HEADS, LAYERS, WIDTH, timed


def exact_error(model: Model, code: str) -> float:
    """A prompt in one piece against PyTorch's plain functions, in 64 bits: last row."""
    n = 40
    piece = Pass(model, 0, 0, n, 0, code)
    piece()
    x = model.embedding[piece.ids].double()
    mask = torch.ones(n, n, device=DEVICE, dtype=torch.bool).tril()
    cos, sin = model.cos[:n].double(), model.sin[:n].double()

    def turned(t: torch.Tensor) -> torch.Tensor:
        low, high = t.chunk(2, -1)
        c, s = cos[:, None], sin[:, None]
        return torch.cat([low * c - high * s, high * c + low * s], -1)

    def normed(t: torch.Tensor) -> torch.Tensor:
        return t * (t.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt()

    for wqkv, wo, wgu, wd in model.layers:
        qkv = (normed(x) @ wqkv.double().t()).view(n, HEADS + 2 * KV_HEADS, WIDTH)
        q, k, v = qkv.split([HEADS, KV_HEADS, KV_HEADS], 1)
        q, k = turned(q), turned(k)
        k, v = (t.repeat_interleave(GROUP, 1).transpose(0, 1) for t in (k, v))
        mixed = F.scaled_dot_product_attention(q.transpose(0, 1), k, v, attn_mask=mask)
        x = x + mixed.transpose(0, 1).reshape(n, -1) @ wo.double().t()
        gate, up = (normed(x) @ wgu.double().t()).chunk(2, -1)
        x = x + (F.silu(gate) * up) @ wd.double().t()
    exact = normed(x)[-1]
    found = piece.last_norm[-1].double()
    return float((found - exact).norm() / exact.norm())


DECODES = [(b, c) for c in (600, 1100) for b in (1, 2, 4, 8, 16, 32, 64, 128, 192, 256)]
DECODES += [(b, 8192) for b in (1, 8, 32)] + [(1, 32768), (1, 98304), (4, 98304)]
PROMPTS = (128, 256, 512, 1000, 2048, 4096, 8192, 16384, 32768, 98304)
CHUNKS = [(31, 1100, c, p) for p in (0, 32768, 97792) for c in (256, 512)]
CHUNKS += [(31, 1100, c, 98304 - c) for c in (1024, 2048, 4096, 8192)]
CHUNKS += [(127, 1100, c, 0) for c in (256, 512, 1000, 2048)]


EIGHT_BITS = [(b, 1100, 0, 0) for b in (1, 16, 64, 128, 256)]
EIGHT_BITS += [(0, 0, n, 0) for n in (1024, 4096, 16384)] + [(31, 1100, 512, 97792)]


def passes(small: bool) -> Iterator[dict]:
    """Iterations in 16 bits, all of them twice, and some with weights of 8 bits."""
    model = Model(2, 1024)
    code = fastest() if CUDA else "FlashAttention-2"
    if not CUDA:  # the libraries' attention is not there
        timed(Pass(model, 2, 100, 0, 0, code))
        return
    yield {"what": "pass's error", "relative": (error := exact_error(model, code))}
    assert error < 3e-2, error
    if small:
        return
    del model
    plain = [(b, c, 0, 0) for b, c in DECODES] + [(0, 0, n, 0) for n in PROMPTS]
    for precision, dtype, cases in (
        ("bf16", BF16, [*plain, *CHUNKS]),
        ("bf16", BF16, [*plain, *CHUNKS]),  # another time, other weights
        ("fp8", FP8, EIGHT_BITS),
    ):
        model = Model(LAYERS, 98304, dtype)
        for case in cases:
            yield one_pass(model, case, code, precision)
            torch.cuda.empty_cache()
        del model
        torch.cuda.empty_cache()


def one_pass(
    model: Model, case: tuple[int, int, int, int], code: str, precision: str
) -> dict:
    """Time one iteration, and a few of them also launched kernel by kernel."""
    piece = Pass(model, *case, code)
    names = ("decodes", "context", "chunk", "prefix")
    row = {"what": "pass", "precision": precision, "code": code}
    row |= dict(zip(names, case, strict=True))
    row["seconds"] = timed(piece, repeats=5)
    if case in ((1, 1100, 0, 0), (64, 1100, 0, 0), (0, 0, 1000, 0)):
        row["launched_seconds"] = from_host(piece)
    return row


def from_host(piece: Pass) -> float:
    """The same pass with each kernel launched from Python, by the host's clock."""
    found = []
    for _ in range(8):
        torch.cuda.synchronize()
        start = time.perf_counter()
        piece()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return statistics.median(found)
