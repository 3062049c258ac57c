"""What a reservation and a page waste, what sharing saves, what preemption costs."""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.formula.derive import solve, symbolic
from llmserve_lab.formula.formula import Formula

COUNTED = "counted"

RESERVED_SHARE = Formula(
    result=q.reserved_share,
    expr=lambda mean_held, reserved_len: mean_held / reserved_len,
    title="Used share of contiguous reservations",
    source=COUNTED,
    holds="each request reserves the longest context in advance",
    ordered=(("mean_held", "reserved_len"),),
)
PAGED_SHARE = Formula(
    result=q.paged_share,
    expr=lambda mean_held, one_request, block_tokens, one_token: (
        mean_held
        * one_request
        / (mean_held * one_request + (block_tokens - one_token) / 2)
    ),
    title="Used share of paged blocks",
    source=COUNTED,
    holds="a last block is as often nearly empty as nearly full",
)
SHARING_SHARE = Formula(
    result=q.sharing_share,
    expr=lambda num_samples, prompt_len, new_tokens: (
        (num_samples - 1) * prompt_len / (num_samples * (prompt_len + new_tokens))
    ),
    title="What sharing a prompt saves",
    source=COUNTED,
    holds="answers of equal length; the prompt fills whole blocks",
)
SWAP_S = Formula(
    result=q.swap_s,
    expr=lambda kv_bytes_per_token, n_rows, host_bw: (
        2 * kv_bytes_per_token * n_rows / host_bw
    ),
    title="Time of a swap",
    source=COUNTED,
    holds="once out and once in, and the copies overlap with nothing",
)
REDO_S = Formula(
    result=q.redo_s,
    expr=lambda flops_per_param, params_active, n_rows, peak_flops, eff_compute: (
        flops_per_param * params_active * n_rows / (peak_flops * eff_compute)
    ),
    title="Time of a recomputation",
    source=COUNTED,
    holds="enough rows to be limited by computing; attention left out",
)
SWAP_BW = Formula(
    result=q.swap_bw,
    expr=lambda: solve(SWAP_S, symbolic(REDO_S), q.host_bw),
    derived=True,
    title="Host bandwidth at which swapping takes as long as computing again",
    source="[swap_s](#eq-swap_s) set equal to [redo_s](#eq-redo_s)",
    holds="attention left out, so the length cancels",
)
