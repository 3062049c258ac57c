"""The running sum, the merge of two splits, and the time of a decode in splits."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import ceiling, maximum, minimum
from llmserve_lab.formula.formula import Formula

ONLINE = "Milakov and Gimelshein 2018"
DECODING = "Dao et al. 2023"

__all__ = [
    "BUSY_SHARE",
    "DECODE_ATTN_S",
    "LEAST_READ_S",
    "MERGED_OUT",
    "MERGE_BYTES",
    "MERGE_S",
    "RUNNING_SUM",
    "SPLIT_READ_S",
    "WAVES",
    "WORK_BLOCKS",
]


def _exp(item: Any) -> Any:
    import sympy

    return sympy.exp(item)


def _split_read_s(
    least_read_s: Any,
    waves: Any,
    key_and_value: Any,
    tile_keys: Any,
    context: Any,
    d_head: Any,
    bytes_kv: Any,
    n_split: Any,
    block_bw: Any,
) -> Any:
    """Blocks one after another at a block's own pace, or all at the memory's."""
    keys = tile_keys * ceiling(context / (tile_keys * n_split))  # whole tiles
    block = key_and_value * keys * d_head * bytes_kv
    return maximum(least_read_s, waves * block / block_bw)


def _least_read_s(
    block_per_head: Any,
    batch: Any,
    n_kv_heads: Any,
    key_and_value: Any,
    context: Any,
    d_head: Any,
    bytes_kv: Any,
    hbm_bw: Any,
    eff_mem: Any,
) -> Any:
    """Every key and value of the layer, at the whole bandwidth."""
    head = key_and_value * context * d_head * bytes_kv
    return block_per_head * batch * n_kv_heads * head / (hbm_bw * eff_mem)


RUNNING_SUM = Formula(
    result=q.running_sum,
    expr=lambda sum_before, max_before, max_now, tile_sum: (
        sum_before * _exp(max_before - max_now) + tile_sum
    ),
    ordered=(("max_before", "max_now"),),
    title="The running sum of a softmax",
    source=f"{ONLINE}, algorithm 3",
    holds="both sums are taken with the maximum that belongs to them",
)
MERGED_OUT = Formula(
    result=q.merged_out,
    expr=lambda out_1, out_2, lse_1, lse_2: (
        out_1 / (1 + _exp(lse_2 - lse_1)) + out_2 / (1 + _exp(lse_1 - lse_2))
    ),
    title="Two splits, merged",
    source=f"{DECODING}; derived below",
    holds="each split is attention over its own keys, for one number of the output",
)
WORK_BLOCKS = Formula(
    result=q.work_blocks,
    expr=lambda block_per_head, batch, n_kv_heads, n_split: (
        block_per_head * batch * n_kv_heads * n_split
    ),
    title="Thread blocks of a decode",
    source=f"{DECODING}, counted",
    holds="the queries of a group share a block; every request has as many splits",
)
BUSY_SHARE = Formula(
    result=q.busy_share,
    expr=lambda work_blocks, n_sms: minimum(1, work_blocks / n_sms),
    uses=(WORK_BLOCKS,),
    title="Share of multiprocessors at work",
    source="counted",
    holds="a block to a multiprocessor, in the first wave",
)
WAVES = Formula(
    result=q.waves,
    expr=lambda work_blocks, n_sms: ceiling(work_blocks / n_sms),
    uses=(WORK_BLOCKS,),
    title="Waves of thread blocks",
    source="counted",
    holds="blocks of equal length, one to a multiprocessor",
)
LEAST_READ_S = Formula(
    result=q.least_read_s,
    expr=_least_read_s,
    title="Least time of attention in decode",
    source="counted",
    holds="every key and value of the layer is read once, at the whole bandwidth",
)
SPLIT_READ_S = Formula(
    result=q.split_read_s,
    expr=_split_read_s,
    uses=(WAVES, LEAST_READ_S),
    title="Time of the splits",
    source="counted",
    holds=(
        "a block reads at its own pace until all of them reach the memory's; splits "
        "are of whole tiles of keys, and there are at most as many"
    ),
)
MERGE_BYTES = Formula(
    result=q.merge_bytes,
    expr=lambda there_and_back, bytes_sum, n_split, batch, n_heads, d_head, log_sum: (
        there_and_back * bytes_sum * n_split * batch * n_heads * (d_head + log_sum)
    ),
    title="Bytes of the merge",
    source="counted",
    holds="at least two splits",
)
MERGE_S = Formula(
    result=q.merge_s,
    expr=lambda n_split, launch_s, merge_bytes, hbm_bw, eff_mem: (
        minimum(1, n_split - 1) * (launch_s + merge_bytes / (hbm_bw * eff_mem))
    ),
    uses=(MERGE_BYTES,),
    title="Time of the merge",
    source="counted",
    holds="a second kernel; one split alone needs none",
)
DECODE_ATTN_S = Formula(
    result=q.decode_attn_s,
    expr=lambda split_read_s, merge_s: split_read_s + merge_s,
    uses=(SPLIT_READ_S, MERGE_S),
    title="Time of attention in decode",
    source="counted",
    holds="memory-bound: computing hides behind reading; one layer, one new token",
)
