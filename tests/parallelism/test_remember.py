"""The five sentences that a reader keeps, each held in every state that is shown."""

from __future__ import annotations

from itertools import product

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import MODEL, attention_bytes, sizes_of
from llmserve_lab.parallelism.context import ContextTurn, context_parallel
from llmserve_lab.parallelism.dealing import contiguous, zigzag
from llmserve_lab.parallelism.deployments import GpuLayout
from llmserve_lab.parallelism.model import GROUPS, PROMPT, SMALL
from llmserve_lab.parallelism.page import figures
from llmserve_lab.parallelism.pipeline import decode_plan, pipelined, prefill_plan
from llmserve_lab.parallelism.rows import tensor_parallel
from llmserve_lab.parallelism.timeline import timeline
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.shard import shape_of_share

TOY = Transformer(SMALL)


def test_one_request_is_not_faster_in_a_pipeline() -> None:
    """Remember 1, at every number of stages and in every state with one batch."""
    alone = GpuLayout().decode(1, 1000).token_s
    for stages in (2, 4, 8):
        piped = GpuLayout(stages=stages).decode(1, 1000, 1).token_s
        assert alone < piped < 1.01 * alone
    figure = figures.pipe_rate()
    for batch, context in product((1.0, 16.0, 128.0), (0.0, 16384.0)):
        state = {"n_batches": 1.0, "batch": batch, "context": context}
        one, four = (
            figure.values(n_stages=p, **state)["pipe_token_s"] for p in (1.0, 4.0)
        )
        assert four > 0.999 * one


def test_prefill_fills_with_batches_and_decode_with_as_many_as_stages() -> None:
    """Remember 2, run: nineteen passes for sixteen, and three of four idle for ever."""
    sixteen = timeline(pipelined(TOY, prefill_plan([[(1,)]] * 16), 4).results)
    assert sixteen.makespan == 19 and round(sixteen.bubble, 2) == 0.16
    for many in (4, 16):
        plan = decode_plan(GROUPS[:1], many)
        assert timeline(pipelined(TOY, plan, 4).results).bubble == pytest.approx(3 / 4)
    full = timeline(pipelined(TOY, decode_plan(GROUPS, 16), 4).results)
    assert full.bubble < 0.05
    figure = figures.pipe_rate()
    for p, m in product(figures.STOPS["n_stages"], figures.STOPS["n_batches"]):
        known = figure.values(n_stages=p, n_batches=m)
        assert (known["decode_bubble"] == 0) == (m >= p)


def test_a_pipeline_sends_one_part_in_four_times_the_layers() -> None:
    """Remember 3: bytes of two ranks, run both ways."""
    piped = pipelined(TOY, prefill_plan([[PROMPT]]), 2).ledger.sent_bytes()
    cut = tensor_parallel(TOY, PROMPT, 2).ledger.sent_bytes()
    assert cut == 4 * SMALL.n_layers * piped
    assert 4 * MODEL.n_layers == 320
    assert float(f.PIPE_SHARE.at(sizes_of(MODEL))) == pytest.approx(1 / 320)


def test_zigzag_is_even_and_few_new_tokens_want_pass_q() -> None:
    """Remember 4: pairs of eight ranks that ran, and the bytes on either side."""
    prompt = PROMPT * 8
    for deal, most in ((contiguous, 1.875), (zigzag, 1.0)):
        turn = ContextTurn(prompt, "pass-KV", deal)
        outputs = context_parallel(TOY, [turn], 8).results
        work = [sum(pairs for *_, pairs in each.pieces) for each in outputs]
        assert max(work) * 8 / sum(work) == pytest.approx(most, abs=0.01)
    share = float(f.MISS_SHARE.at(sizes_of(MODEL)))
    assert share == pytest.approx(0.125, abs=0.001)
    for model in map(catalog.model, ("llama-3.1-8b", "llama-3.1-405b")):
        assert 0.05 < float(f.MISS_SHARE.at(sizes_of(model))) < 0.27


def test_whole_attention_pays_where_the_cache_would_be_copied() -> None:
    """Remember 5: bytes of both, one token below and one above."""
    deepseek = catalog.model("deepseek-v3")
    each = float(catalog.workload(deepseek, precision="fp8")["kv_bytes_per_token"])
    weights = float(attention_bytes(deepseek, "fp8"))
    even = float(
        f.EVEN_TOKENS(
            attn_bytes=weights, n_ranks=8.0, kv_bytes_per_token=each, kv_copies=8.0
        )
    )
    assert even == pytest.approx(298_553, abs=1)
    for tokens, whole_is_less in ((0.99 * even, False), (1.01 * even, True)):
        cut = weights + 8 * tokens * each  # of all eight together
        whole = 8 * weights + tokens * each
        assert (whole < cut) is whole_is_less
    spec = shape_of_share(MODEL, 8).attention
    assert isinstance(spec, GroupedQueryAttention) and spec.n_kv_heads == 1
