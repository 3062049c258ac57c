"""Bubble, time, bytes and memory of a pipeline of equal stages."""

from __future__ import annotations

from typing import Any

from llmserve_lab import notation as q
from llmserve_lab.collectives.formulas import ALL_REDUCE_BYTES
from llmserve_lab.formula.derive import at, limit, maximum, symbolic
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline.formulas import (
    ATTN_FLOPS,
    COMPUTE_S,
    KV_READ_BYTES,
    KV_S,
    LINEAR_FLOPS,
    N_ROWS,
    STORED_BYTES,
    WEIGHTS_S,
    partly_hidden,
)

__all__ = [
    "BUBBLE",
    "DECODE_BUBBLE",
    "PASS_S",
    "PIPE_BYTES",
    "PIPE_LINEAR_S",
    "PIPE_PAIRS_S",
    "PIPE_RATE",
    "PIPE_SHARE",
    "PIPE_SLOTS",
    "PIPE_TOKEN_S",
    "PREFILL_BUBBLE",
    "REDUCED_BYTES",
    "STAGE_BYTES",
    "STAGE_HOP_S",
    "STAGE_S",
]

EQUAL = "a batch takes equally long in every stage; a hop takes no time"
GPIPE = "Huang et al. 2019, section 2.3"


def _rows_bytes() -> Any:
    """Bytes of the rows of a batch, as SymPy has them."""
    return q.bytes_act.sympy * q.n_rows.sympy * q.d_model.sympy


PIPE_SLOTS = Formula(
    result=q.pipe_slots,
    expr=lambda n_turns, n_batches, n_stages: (
        (n_turns - 1) * maximum(n_batches, n_stages) + n_batches + n_stages - 1
    ),
    title="Time of a pipeline, in ticks",
    source="counted: the first stage starts a batch's next pass when the last is done",
    holds=EQUAL,
)
BUBBLE = Formula(
    result=q.bubble,
    expr=lambda n_batches, n_turns, pipe_slots: 1 - n_batches * n_turns / pipe_slots,
    uses=(PIPE_SLOTS,),
    title="Bubble of a pipeline",
    source="[pipe_slots](#eq-pipe_slots), of which a stage works in one for each pass",
    holds=EQUAL,
)
PREFILL_BUBBLE = Formula(
    result=q.prefill_bubble,
    expr=lambda: at(BUBBLE, n_turns=1).cancel(),
    derived=True,
    title="Bubble of prefill",
    source=f"[bubble](#eq-bubble) for one pass of each batch; {GPIPE}",
    holds=f"{EQUAL}; m counts all batches, filling and emptying too",
)
DECODE_BUBBLE = Formula(
    result=q.decode_bubble,
    expr=lambda: limit(BUBBLE, q.n_turns, "oo"),
    derived=True,
    title="Bubble of decode",
    source="[bubble](#eq-bubble) for answers without end",
    holds=f"{EQUAL}; m batches are in flight, the same ones for a long time",
)
STAGE_HOP_S = Formula(
    result=q.stage_hop_s,
    expr=lambda link_latency, bytes_act, n_rows, d_model, link_bw, eff_link: (
        link_latency + bytes_act * n_rows * d_model / (link_bw * eff_link)
    ),
    uses=(N_ROWS,),
    title="Time to hand a batch on",
    source="Hockney 1994, latency and bandwidth of a message",
    holds="nothing else is on the link",
)
PIPE_LINEAR_S = Formula(
    result=q.linear_s,
    expr=lambda: at(COMPUTE_S, keep=(q.iteration_flops,), iteration_flops=LINEAR_FLOPS),
    derived=True,
    variant="stages",
    title="Time of the linear layers, all stages together",
    source="[compute_s](roofline.ipynb#eq-compute_s), its first part",
    holds="memory keeps up",
)
PIPE_PAIRS_S = Formula(
    result=q.pairs_s,
    expr=lambda: at(COMPUTE_S, keep=(q.iteration_flops,), iteration_flops=ATTN_FLOPS),
    derived=True,
    variant="stages",
    title="Time of attention's arithmetic, all stages together",
    source="[compute_s](roofline.ipynb#eq-compute_s), its second part",
    holds="memory keeps up",
)
PASS_S = Formula(
    result=q.pass_s,
    expr=lambda linear_s, weights_s, overlap, pairs_s, kv_s, layer_s, n_layers: (
        partly_hidden(linear_s, weights_s, overlap)
        + pairs_s
        + kv_s
        + layer_s * n_layers
    ),
    uses=(PIPE_LINEAR_S, WEIGHTS_S, PIPE_PAIRS_S, KV_S),
    title="Work of a decode step, all stages together",
    source="the form that measured servers were fitted with",
    holds="attention computes and reads after the products, hidden behind nothing",
)
STAGE_S = Formula(
    result=q.stage_s,
    expr=lambda pass_s, n_stages, batch, request_s, stage_hop_s: (
        pass_s / n_stages + batch * request_s + stage_hop_s
    ),
    uses=(PASS_S, STAGE_HOP_S),
    title="A decode step of one batch in one stage",
    source="[pass_s](#eq-pass_s) shared out over the stages",
    holds="equal stages; every stage pays the fixed time of each request",
)
PIPE_TOKEN_S = Formula(
    result=q.pipe_token_s,
    expr=lambda n_batches, n_stages, stage_s: maximum(n_batches, n_stages) * stage_s,
    uses=(STAGE_S,),
    title="Time from token to token in a pipeline",
    source="counted: a batch comes back when it has been through all stages, and when "
    "all others have been through the first",
    holds="equal batches; a batch's tokens return to the first stage at once",
)
PIPE_RATE = Formula(
    result=q.pipe_rate,
    expr=lambda n_batches, token_a_step, batch, pipe_token_s: (
        n_batches * token_a_step * batch / pipe_token_s
    ),
    uses=(PIPE_TOKEN_S,),
    title="Throughput of a pipeline",
    source="each request of each batch has a token in [pipe_token_s](#eq-pipe_token_s)",
    holds="as [pipe_token_s](#eq-pipe_token_s)",
)
PIPE_BYTES = Formula(
    result=q.pipe_bytes,
    expr=lambda n_stages, bytes_act, n_rows, d_model: (
        (n_stages - 1) * bytes_act * n_rows * d_model
    ),
    uses=(N_ROWS,),
    title="Bytes of a pipeline",
    source="counted: every row crosses every border once",
    holds="one tensor of rows; vLLM sends two, and token ids go back",
)
REDUCED_BYTES = Formula(
    result=q.reduced_bytes,
    expr=lambda: (
        q.all_reduces_per_layer.sympy
        * q.n_layers.sympy
        * q.n_ranks.sympy
        * at(ALL_REDUCE_BYTES, tensor_bytes=_rows_bytes())
    ),
    uses=(N_ROWS,),
    derived=True,
    title="Bytes of tensor parallelism, all ranks together",
    source="[all_reduce_bytes](tensor_parallel.ipynb#eq-all_reduce_bytes) of every "
    "rank, twice in each layer",
    holds="ring algorithm; sequence parallelism sends as many",
)
PIPE_SHARE = Formula(
    result=q.pipe_share,
    expr=lambda: (
        symbolic(PIPE_BYTES) / at(REDUCED_BYTES, n_ranks=q.n_stages)
    ).cancel(),
    derived=True,
    title="Bytes of a pipeline over those of tensor parallelism",
    source="[pipe_bytes](#eq-pipe_bytes) over [reduced_bytes](#eq-reduced_bytes)",
    holds="as many stages as ranks, two or more",
)
STAGE_BYTES = Formula(
    result=q.stage_bytes,
    expr=lambda stored_bytes, n_batches, kv_read_bytes, n_stages: (
        (stored_bytes + n_batches * kv_read_bytes) / n_stages
    ),
    uses=(STORED_BYTES, KV_READ_BYTES),
    title="What one stage holds",
    source="counted: its layers, and their part of the cache of all requests",
    holds="equal stages; the embedding table and the LM head shared out evenly",
)
