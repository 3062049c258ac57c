"""Attention of decode, its keys read in splits that are merged afterwards."""

import torch
import triton
import triton.language as tl
from timing import DEVICE, KV_HEADS, WIDTH


@triton.jit
def split_kernel(
    q,
    k,
    v,
    part,
    lse,
    context,
    per_split,
    splits,
    scale,
    KV: tl.constexpr,
    G: tl.constexpr,
    D: tl.constexpr,
    TILE: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Attention of one request's group of heads over one split of its keys."""
    request, head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows, cols, keys = tl.arange(0, 16), tl.arange(0, D), tl.arange(0, TILE)
    at = request * KV * G + head * G
    mine = tl.load(
        q + (at + rows[:, None]) * D + cols[None, :], mask=rows[:, None] < G, other=0.0
    )
    base = (request.to(tl.int64) * KV + head) * context * D
    top = tl.full((16,), float("-inf"), tl.float32)
    total = tl.zeros((16,), tl.float32)
    acc = tl.zeros((16, D), tl.float32)
    first = split * per_split
    last = tl.minimum(first + per_split, context)
    for start in tl.range(first, last, TILE, num_stages=STAGES):
        inside = start + keys < last
        block = base + (start + keys).to(tl.int64)[:, None] * D + cols[None, :]
        some_k = tl.load(k + block, mask=inside[:, None], other=0.0)
        some_v = tl.load(v + block, mask=inside[:, None], other=0.0)
        score = tl.dot(mine, tl.trans(some_k)) * scale
        score = tl.where(inside[None, :], score, float("-inf"))
        new = tl.maximum(top, tl.max(score, 1))
        shrink = tl.exp(top - new)
        weight = tl.exp(score - new[:, None])
        total = total * shrink + tl.sum(weight, 1)
        acc = acc * shrink[:, None] + tl.dot(weight.to(some_v.dtype), some_v)
        top = new
    place = (at + rows) * splits + split
    tl.store(
        part + place[:, None] * D + cols[None, :],
        acc / total[:, None],
        mask=rows[:, None] < G,
    )
    tl.store(lse + place, top + tl.log(total), mask=rows < G)


@triton.jit
def merge_kernel(part, lse, out, splits, MOST: tl.constexpr, D: tl.constexpr):
    """The parts of one head of one request, weighed by their log-sum-exp."""
    head = tl.program_id(0)
    each, cols = tl.arange(0, MOST), tl.arange(0, D)
    inside = each < splits
    sums = tl.load(lse + head * splits + each, mask=inside, other=float("-inf"))
    weight = tl.exp(sums - tl.max(sums, 0))
    weight = weight / tl.sum(weight, 0)
    parts = tl.load(
        part + (head * splits + each)[:, None] * D + cols[None, :],
        mask=inside[:, None],
        other=0.0,
    )
    tl.store(
        out + head * D + cols,
        tl.sum(parts * weight[:, None], 0).to(out.dtype.element_ty),
    )


class Decode:
    """Split-KV attention for one token of each request; caches [batch, KV, n, D]."""

    def __init__(self, batch: int, heads: int, kv_heads: int, splits: int) -> None:
        self.heads, self.kv_heads, self.splits = heads, kv_heads, splits
        self.part = torch.empty(batch, heads, splits, WIDTH, device=DEVICE)
        self.lse = torch.empty(batch, heads, splits, device=DEVICE)

    def __call__(self, q, k, v, out, context: int) -> None:
        """Attend to ``context`` keys of each request, and merge the splits."""
        per_split = -(-context // self.splits // 64) * 64
        split_kernel[(len(q), self.kv_heads, self.splits)](
            q,
            k,
            v,
            self.part,
            self.lse,
            context,
            per_split,
            self.splits,
            WIDTH**-0.5,
            KV=self.kv_heads,
            G=self.heads // self.kv_heads,
            D=WIDTH,
            TILE=64,
            STAGES=3,
            num_warps=4,
        )
        merge_kernel[(len(q) * self.heads,)](
            self.part,
            self.lse,
            out,
            self.splits,
            MOST=triton.next_power_of_2(self.splits),
            D=WIDTH,
            num_warps=4,
        )


def splits_for(batch: int, context: int, kv_heads: int = KV_HEADS) -> int:
    """Enough splits for four blocks on each of 132 multiprocessors, none below 128."""
    wanted = max(1, 528 // (batch * kv_heads))
    return max(1, min(128, wanted, context // 128))
