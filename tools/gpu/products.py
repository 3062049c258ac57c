"""Products of rows with the model's matrices, and of squares."""

from collections.abc import Iterator

import torch
from timing import (
    BF16,
    CUDA,
    DEVICE,
    HEADS,
    HIDDEN,
    INNER,
    KV_HEADS,
    VOCAB,
    WIDTH,
    noise,
    timed,
    turns_of,
)

MATRICES = {  # rows of results by rows of inputs, of one layer, and the head
    "qkv": (HIDDEN, (HEADS + 2 * KV_HEADS) * WIDTH),
    "out": (HEADS * WIDTH, HIDDEN),
    "gate and up": (HIDDEN, 2 * INNER),
    "down": (INNER, HIDDEN),
    "head": (HIDDEN, VOCAB),
}
ROWS = (
    1,
    2,
    4,
    8,
    16,
    32,
    64,
    96,
    128,
    160,
    192,
    256,
    320,
    384,
    512,
    768,
    1024,
    2048,
    4096,
    8192,
    16384,
)


def products(small: bool) -> Iterator[dict]:
    for name, (n_in, n_out) in MATRICES.items():
        if small:
            n_in, n_out = 64, 96
        turns = turns_of(2 * n_in * n_out)
        weights = [noise(n_out, n_in) for _ in range(turns)]
        for rows in ROWS[:2] if small else ROWS:
            if rows * n_out > 1 << 30:
                continue
            x = noise(rows, n_in)
            out = torch.empty(rows, n_out, device=DEVICE, dtype=BF16)
            seconds = timed(lambda turn: torch.mm(x, weights[turn].t(), out=out), turns)
            yield {
                "what": "product",
                "precision": "bf16",
                "matrix": name,
                "n_in": n_in,
                "n_out": n_out,
                "rows": rows,
                "seconds": seconds,
            }
        if not CUDA:
            continue
        eight = [w.to(torch.float8_e4m3fn) for w in weights]
        one = torch.ones((), device=DEVICE)
        for rows in ROWS[4::2] if name in ("gate and up", "down") else ():
            x = noise(rows, n_in).to(torch.float8_e4m3fn)
            seconds = timed(
                lambda turn: torch._scaled_mm(
                    x,
                    eight[turn].t(),
                    scale_a=one,
                    scale_b=one,
                    out_dtype=BF16,
                    use_fast_accum=True,
                ),
                turns,
            )
            yield {
                "what": "product",
                "precision": "fp8",
                "matrix": name,
                "n_in": n_in,
                "n_out": n_out,
                "rows": rows,
                "seconds": seconds,
            }
    for side in (64,) if small else (256, 512, 1024, 2048, 4096, 8192, 16384):
        turns = turns_of(2 * side * side, 32)
        weights = [noise(side, side) for _ in range(turns)]
        x, out = noise(side, side), torch.empty(side, side, device=DEVICE, dtype=BF16)
        seconds = timed(lambda turn: torch.mm(x, weights[turn].t(), out=out), turns)
        yield {
            "what": "product",
            "precision": "bf16",
            "matrix": "square",
            "n_in": side,
            "n_out": side,
            "rows": side,
            "seconds": seconds,
        }
