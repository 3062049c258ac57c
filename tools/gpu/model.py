"""Llama-3.1-8B with random weights, and one iteration of it."""

import torch
import triton
import triton.language as tl
from decode import Decode, splits_for
from prefill import after_prefix, causal
from timing import (
    BF16,
    DEVICE,
    FP8,
    HEADS,
    HIDDEN,
    INNER,
    KV_HEADS,
    VOCAB,
    WIDTH,
    noise,
)


@triton.jit
def norm_kernel(x, residual, gain, out, N: tl.constexpr, BLOCK: tl.constexpr):
    """Residual += x; out = RMS norm of it."""
    row, cols = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = cols < N
    mine = tl.load(residual + row * N + cols, mask=inside, other=0.0).to(tl.float32)
    mine += tl.load(x + row * N + cols, mask=inside, other=0.0).to(tl.float32)
    tl.store(residual + row * N + cols, mine.to(residual.dtype.element_ty), mask=inside)
    scale = tl.rsqrt(tl.sum(mine * mine, 0) / N + 1e-5)
    gains = tl.load(gain + cols, mask=inside, other=0.0).to(tl.float32)
    tl.store(
        out + row * N + cols,
        (mine * scale * gains).to(out.dtype.element_ty),
        mask=inside,
    )


@triton.jit
def gate_kernel(both, out, N: tl.constexpr, BLOCK: tl.constexpr):
    """silu(gate) · up of one row."""
    row, cols = (
        tl.program_id(0).to(tl.int64),
        (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)),
    )
    inside = cols < N
    gate = tl.load(both + row * 2 * N + cols, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(both + row * 2 * N + N + cols, mask=inside, other=0.0).to(tl.float32)
    tl.store(
        out + row * N + cols,
        (gate * tl.sigmoid(gate) * up).to(out.dtype.element_ty),
        mask=inside,
    )


@triton.jit
def rope_kernel(
    qkv,
    q,
    k,
    v,
    cos,
    sin,
    slot,
    position,
    cache_len,
    H: tl.constexpr,
    KV: tl.constexpr,
    D: tl.constexpr,
):
    """Turn queries and keys of a row by its position; write the cache in its place."""
    row, head = tl.program_id(0).to(tl.int64), tl.program_id(1)
    half = tl.arange(0, D // 2)
    source = qkv + row * (H + 2 * KV) * D + head * D
    low, high = tl.load(source + half), tl.load(source + D // 2 + half)
    at = tl.load(position + row)
    if head < H + KV:
        c, s = tl.load(cos + at * D // 2 + half), tl.load(sin + at * D // 2 + half)
        a = low.to(tl.float32) * c - high.to(tl.float32) * s
        b = high.to(tl.float32) * c + low.to(tl.float32) * s
        low, high = a.to(q.dtype.element_ty), b.to(q.dtype.element_ty)
    if head < H:
        target = q + (row * H + head) * D
    else:
        part = (head - H) % KV
        place = (tl.load(slot + row).to(tl.int64) * KV + part) * cache_len + at
        target = tl.where(head < H + KV, k, v) + place * D
    tl.store(target + half, low)
    tl.store(target + D // 2 + half, high)


class Model:
    """Llama-3.1-8B's shapes with random weights; pieces of rows go through it."""

    def __init__(
        self, layers: int, max_context: int, dtype: torch.dtype = BF16
    ) -> None:
        def weight(n_out: int, n_in: int) -> torch.Tensor:
            return (noise(n_out, n_in) * n_in**-0.5).to(dtype)

        self.layers = [
            (
                weight((HEADS + 2 * KV_HEADS) * WIDTH, HIDDEN),
                weight(HIDDEN, HEADS * WIDTH),
                weight(2 * INNER, HIDDEN),
                weight(HIDDEN, INNER),
            )
            for _ in range(layers)
        ]
        self.dtype = dtype  # of the weights of the layers, and of what they multiply
        self.head = noise(VOCAB, HIDDEN) * HIDDEN**-0.5
        self.embedding = noise(VOCAB, HIDDEN)
        self.gain = torch.ones(HIDDEN, device=DEVICE, dtype=BF16)
        angles = torch.outer(
            torch.arange(max_context, device=DEVICE).float(),
            500000.0 ** (-torch.arange(0, WIDTH, 2, device=DEVICE) / WIDTH),
        )
        self.cos, self.sin = angles.cos(), angles.sin()


class Pass:
    """One iteration: so many decodes with a context, and a chunk after its prefix.

    The token of each decode and the chunk's last are given logits, and the likeliest
    of each is chosen.
    """

    def __init__(
        self,
        model: Model,
        decodes: int,
        context: int,
        chunk: int,
        prefix: int,
        code: str,
    ) -> None:
        self.code = code
        self.model, self.decodes, self.context = model, decodes, context
        self.chunk, self.prefix = chunk, prefix
        rows = self.rows = decodes + chunk
        self.ids = torch.randint(VOCAB, (rows,), device=DEVICE)
        self.position = torch.cat(
            [torch.full((decodes,), context - 1), prefix + torch.arange(chunk)]
        ).to(DEVICE)
        self.slot = (
            torch.cat([torch.arange(decodes), torch.zeros(chunk)]).to(DEVICE).long()
        )
        n = len(model.layers)
        self.cache = [
            [noise(decodes, KV_HEADS, context, WIDTH) for _ in "kv"]
            for _ in range(n if decodes else 0)
        ]
        self.long = [
            [noise(1, KV_HEADS, prefix + chunk, WIDTH) for _ in "kv"]
            for _ in range(n if chunk else 0)
        ]
        self.last = torch.cat(
            [torch.arange(decodes), torch.full((min(chunk, 1),), rows - 1)]
        ).to(DEVICE)
        self.decode = (
            Decode(decodes, HEADS, KV_HEADS, splits_for(decodes, context))
            if decodes
            else None
        )

        def empty(width: int) -> torch.Tensor:
            return torch.empty(rows, width, device=DEVICE, dtype=BF16)

        self.hidden, self.x, self.last_norm = (empty(HIDDEN) for _ in range(3))
        self.q, self.mixed = empty(HEADS * WIDTH), empty(HEADS * WIDTH)
        self.qkv = empty((HEADS + 2 * KV_HEADS) * WIDTH)
        self.both = empty(2 * INNER)
        self.normed = empty(HIDDEN).to(model.dtype)
        self.inner = empty(INNER).to(model.dtype)
        self.rounded = self.mixed.to(model.dtype)
        self.one = torch.ones((), device=DEVICE)

    def __call__(self, _turn: int = 0) -> None:
        """Every kernel of the iteration, once."""
        model, rows, d = self.model, self.rows, self.decodes
        torch.index_select(model.embedding, 0, self.ids, out=self.hidden)
        self.x.zero_()
        for i, (wqkv, wo, wgu, wd) in enumerate(model.layers):
            self._norm(self.normed)
            self._product(self.normed, wqkv, self.qkv)
            for cache, first, many in ((self.cache, 0, d), (self.long, d, self.chunk)):
                if many:
                    k, v = cache[i]
                    rope_kernel[(many, HEADS + 2 * KV_HEADS)](
                        self.qkv[first:],
                        self.q[first:],
                        k,
                        v,
                        model.cos,
                        model.sin,
                        self.slot[first:],
                        self.position[first:],
                        k.shape[2],
                        H=HEADS,
                        KV=KV_HEADS,
                        D=WIDTH,
                        num_warps=1,
                    )
            if d:
                self.decode(
                    self.q[:d].view(d, HEADS, WIDTH),
                    *self.cache[i],
                    self.mixed,
                    self.context,
                )
            if self.chunk:
                mine = self.q[d:].view(1, self.chunk, HEADS, WIDTH).transpose(1, 2)
                k, v = self.long[i]
                if self.prefix:
                    after_prefix(
                        mine.contiguous(), k, v, self.prefix, self.mixed[d:], self.code
                    )
                else:
                    got = causal(mine, k, v, self.code)[0]
                    self.mixed[d:].view(self.chunk, HEADS, WIDTH).copy_(
                        got[0].transpose(0, 1)
                    )
            if model.dtype == FP8:
                self.rounded.copy_(self.mixed)
            self._product(
                self.rounded if model.dtype == FP8 else self.mixed, wo, self.x
            )
            self._norm(self.normed)
            self._product(self.normed, wgu, self.both)
            gate_kernel[(rows, INNER // 2048)](
                self.both, self.inner, N=INNER, BLOCK=2048
            )
            self._product(self.inner, wd, self.x)
        self._norm(self.last_norm)
        logits = torch.mm(self.last_norm[self.last], model.head.t())
        self.chosen = logits.argmax(-1)

    def _product(
        self, x: torch.Tensor, weight: torch.Tensor, out: torch.Tensor
    ) -> None:
        if weight.dtype == FP8:
            torch._scaled_mm(
                x,
                weight.t(),
                scale_a=self.one,
                scale_b=self.one,
                out_dtype=BF16,
                use_fast_accum=True,
                out=out,
            )
        else:
            torch.mm(x, weight.t(), out=out)

    def _norm(self, out: torch.Tensor) -> None:
        norm_kernel[(self.rows,)](
            self.x, self.hidden, self.model.gain, out, N=HIDDEN, BLOCK=HIDDEN
        )
