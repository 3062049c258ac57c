"""The figure of blocks: who may not pass whom, and for how long."""

from llmserve_lab.continuous_batching.page import blocks
from llmserve_lab.continuous_batching.workloads import short_of_blocks


def test_c_may_not_pass_b_though_its_blocks_are_free_but_not_all_the_time() -> None:
    run, free = blocks.watched(), blocks.blocked()
    need = -(-short_of_blocks()[blocks.C].prompt_len // blocks.BLOCK_TOKENS)
    waits = [frame for frame in run if blocks.C in frame.waiting]
    assert need == 3 and all(frame.free_blocks >= need for frame in free)
    assert all(frame.waiting[0] == blocks.B for frame in free)
    rest = [frame for frame in waits if frame not in free]
    assert rest and all(frame.free_blocks < need for frame in rest)
