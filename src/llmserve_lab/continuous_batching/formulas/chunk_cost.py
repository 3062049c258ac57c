"""What it costs to cut a prompt into chunks: the same FLOPs, more bytes.

Every chunk reads the weights again, and all that the chunks
before it have left in the cache.
"""

from __future__ import annotations

from llmserve_lab import notation as q
from llmserve_lab.continuous_batching.formulas.mixed_batch import ARTICLE
from llmserve_lab.formula.derive import at, ceiling, maximum, solve
from llmserve_lab.formula.formula import Formula
from llmserve_lab.roofline import formulas as roofline

__all__ = [
    "BLOCK_PAIRS",
    "HIDING_CHUNK",
    "LAST_PREFIX",
    "NUM_CHUNKS",
    "PROMPT_BLOCK_PAIRS",
    "PROMPT_COMPUTE_S",
    "PROMPT_KV_S",
    "PROMPT_S",
    "PROMPT_WEIGHTS_S",
    "REREADS",
    "REREAD_TOKENS",
]

NUM_CHUNKS = Formula(
    result=q.num_chunks,
    expr=lambda prompt_len, chunk: ceiling(prompt_len / chunk),
    title="Chunks of a prompt",
    source=f"{ARTICLE}, §4",
    holds="every chunk but the last is full",
)
LAST_PREFIX = Formula(
    result=q.last_prefix,
    expr=lambda chunk, num_chunks: chunk * (num_chunks - 1),
    uses=(NUM_CHUNKS,),
    title="Prefix of the last chunk",
    source=f"{ARTICLE}, §4",
    holds="every chunk but the last is full; the rest of the prompt is the last one",
)
BLOCK_PAIRS = Formula(
    result=q.block_pairs,
    expr=lambda pairs_per_row, one_request, chunk, context: (
        pairs_per_row * one_request * chunk * (context + chunk)
    ),
    title="Pairs in the block of a chunk",
    source=f"{ARTICLE}, §4",
    holds="the whole rectangle is counted, what the mask hides included",
)
PROMPT_BLOCK_PAIRS = Formula(
    result=q.prompt_block_pairs,
    expr=lambda pairs_per_row, one_request, prompt_len, chunk: (
        pairs_per_row * one_request * prompt_len * (prompt_len + chunk) / 2
    ),
    title="Pairs in all blocks of a prompt",
    source="counted; article 05, §6, has another sum",
    holds="chunks that divide the prompt",
)
PROMPT_COMPUTE_S = Formula(
    result=q.prompt_compute_s,
    expr=lambda: at(
        roofline.COMPUTE_S, batch=q.one_request, chunk=q.prompt_len, context=0
    ),
    derived=True,
    title="Time to compute a whole prompt",
    source="[compute_s](#eq-compute_s), one request, nothing in the cache",
    holds="the same for any chunk: cutting changes no FLOPs",
)
PROMPT_WEIGHTS_S = Formula(
    result=q.prompt_weights_s,
    expr=lambda num_chunks, weights_s: num_chunks * weights_s,
    uses=(NUM_CHUNKS, roofline.WEIGHTS_S),
    title="Time to read the weights for every chunk",
    source="counted",
    holds="compute keeps up; nothing else shares the iterations",
)
REREAD_TOKENS = Formula(
    result=q.reread_tokens,
    expr=lambda chunk, num_chunks: chunk * num_chunks * (num_chunks - 1) / 2,
    uses=(NUM_CHUNKS,),
    title="Cached tokens read again",
    source=f"{ARTICLE}, §6",
    holds="each chunk reads its whole prefix once, layer by layer",
)
PROMPT_KV_S = Formula(
    result=q.prompt_kv_s,
    expr=lambda one_request, kv_bytes_per_token, reread_tokens, hbm_bw, eff_mem: (
        one_request * kv_bytes_per_token * reread_tokens / (hbm_bw * eff_mem)
    ),
    uses=(REREAD_TOKENS,),
    title="Time to read the prefix of every chunk",
    source=f"{ARTICLE}, §6",
    holds="compute keeps up; each chunk reads its whole prefix once",
)
REREADS = Formula(
    result=q.rereads,
    expr=lambda: (
        at(
            REREAD_TOKENS,
            keep=(q.num_chunks,),
            num_chunks=q.prompt_len.sympy / q.chunk.sympy,
        )
        / q.prompt_len.sympy
    ).simplify(),
    derived=True,
    title="How often a token is read again",
    source="[reread_tokens](#eq-reread_tokens) over the prompt",
    holds="chunks that divide the prompt",
)
PROMPT_S = Formula(
    result=q.prompt_s,
    expr=lambda prompt_compute_s, prompt_weights_s, prompt_kv_s: maximum(
        prompt_compute_s, prompt_weights_s + prompt_kv_s
    ),
    uses=(PROMPT_COMPUTE_S, PROMPT_WEIGHTS_S, PROMPT_KV_S),
    title="Time of a prefill in chunks",
    source=roofline.ITERATION_S.source,
    holds="all chunks on one side of the ridge; a lower bound otherwise",
)
HIDING_CHUNK = Formula(
    result=q.hiding_chunk,
    expr=lambda: solve(roofline.ATTN_INTENSITY, q.ridge, q.chunk),
    uses=(roofline.RIDGE,),
    derived=True,
    title="Chunk that hides its own re-reading",
    source="attention intensity [attn_intensity](#eq-attn_intensity) against the ridge",
    holds="a long prefix; any longer one changes nothing",
)
