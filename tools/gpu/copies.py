"""Copies of every size, and reads by few blocks and by many."""

from collections.abc import Iterator

import torch
import triton
import triton.language as tl
from timing import CUDA, DEVICE, timed, turns_of


@triton.jit
def read_kernel(source, out, each, BLOCK: tl.constexpr):
    """One program reads ``each`` numbers of four bytes, and keeps only their sum."""
    program = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, each, BLOCK, num_stages=2):
        total += tl.load(source + program * each + start + lanes)
    tl.store(out + program, tl.sum(total))


def copies(small: bool) -> Iterator[dict]:
    for power in (12, 14) if small else range(12, 33):
        size = 1 << power
        turns = turns_of(size)
        pairs = [
            (
                torch.empty(size, dtype=torch.uint8, device=DEVICE),
                torch.empty(size, dtype=torch.uint8, device=DEVICE),
            )
            for _ in range(min(turns, 4) if power > 29 else turns)
        ]
        seconds = timed(lambda turn: pairs[turn][0].copy_(pairs[turn][1]), len(pairs))
        yield {"what": "copy", "bytes": size, "seconds": seconds}
    out = torch.empty(4096, device=DEVICE)
    sms = torch.cuda.get_device_properties(0).multi_processor_count if CUDA else 2
    for blocks in (
        (1, 2)
        if small
        else (1, 2, 4, 8, 16, 32, 64, 96, sms, 2 * sms, 4 * sms, 8 * sms)
    ):
        each = 16384 * (2 if small else max(16, 4096 // blocks))
        source = torch.randn(blocks * each * 2, device=DEVICE)
        halves = source.split(blocks * each)
        for block in (4096, 16384):  # numbers that a block asks for at a time
            seconds = timed(
                lambda turn: read_kernel[(blocks,)](
                    halves[turn], out, each, BLOCK=block, num_warps=16
                ),
                2,
            )
            yield {
                "what": "read",
                "blocks": blocks,
                "at_a_time": 4 * block,
                "bytes": 4 * blocks * each,
                "seconds": seconds,
            }
