"""Speculative decoding on the book's machine: what a pass costs, what drafts gain.

Llama-3.1-8B on one H100 as measured servers reach it; each request has the prompt and
half of the answer of the book's example in its cache.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from statistics import median

import numpy as np

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE, VLLM_GRAPH_ROWS
from llmserve_lab.catalog.evidence.speculation import (
    CURVES,
    EAGLE_3_VOCAB,
    EAGLE_CURVES,
    LLAMA_32_1B,
)
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import whole
from llmserve_lab.collectives.formulas import TOUCHED_EXPERTS
from llmserve_lab.engine import (
    Acceptance,
    Chunked,
    IterationCost,
    IterationLoad,
    Pool,
    Request,
    Speculation,
    simulate,
)
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.running_example import ANSWER, PROMPT
from llmserve_lab.validation.drafts import DraftFit, fitted
from llmserve_lab.validation.room import requests_that_fit

CONTEXT = PROMPT + ANSWER // 2  # tokens in the cache of a request, half-way
GRAPH_ROWS = int(VLLM_GRAPH_ROWS.value)  # of a check whose launches are recorded
MOST = 8  # drafts of a chain that are tried
POORER = (0.7, 0.6)  # chances of the first draft of guessers worse than the usual
UNSEEN = Unmeasured("only whole rounds were measured", True)
LONGER = "weights or computing: the longer"
SHORTER = "of the shorter: what is not hidden"
EXPERTS = "deepseek-v3"  # the model whose experts are counted
SMALL, HEAD, LOOKUP = "Llama-3.2-1B", "a head of its own", "prompt lookup"
HEAD_3 = "an EAGLE-3 head"


@cache
def published() -> tuple[DraftFit, ...]:
    """Both laws of acceptance for every published curve."""
    return tuple(map(fitted, CURVES))


@cache
def usual() -> Acceptance:
    """The law in the middle of the published ones: medians of α and of r."""
    fits = published()
    return Acceptance(
        round(median(each.alpha for each in fits), 2),
        round(median(each.falls for each in fits), 2),
    )


@cache
def on_this_target() -> tuple[DraftFit, ...]:
    """The falling law fitted to the head EAGLE on Llama-3.1-8B, task by task."""
    return tuple(map(fitted, EAGLE_CURVES))


@cache
def draft_cost(source: str) -> IterationCost | None:
    """What a pass of a source of drafts costs; looking up costs nothing.

    A head of the target's own is one of its layers and its LM head; an EAGLE-3 head
    has an LM head of its own, over fewer tokens. The host's time for a request is spent
    once a round, beside the verification pass: a draft pass handles the batch as one,
    and with a charge on each the measured fall with the batch is missed by far.

    Raises:
        ValueError: there is no such source.
    """
    if source == LOOKUP:
        return None
    shapes = {
        SMALL: LLAMA_32_1B,
        HEAD: replace(running_example.model(), n_layers=1),
        HEAD_3: replace(
            running_example.model(), n_layers=1, vocab=int(float(EAGLE_3_VOCAB))
        ),
    }
    if source not in shapes:
        known = ", ".join((*shapes, LOOKUP))
        raise ValueError(f"source must be one of {known}, got {source!r}")
    served = running_example.served_by(shapes[source], running_example.device())
    return replace(served, request_s=0.0)


def decodes(batch: int, context: int = CONTEXT) -> IterationLoad:
    """A decode step of so many requests, each with ``context`` tokens in cache."""
    whole(of="request", batch=batch)
    return IterationLoad.of(chunk=1, context=context).times(batch)


def plain_s(batch: int, context: int = CONTEXT) -> float:
    """Seconds of a decode pass without drafts."""
    return running_example.cost().seconds(decodes(batch, context))


def prompts_s(batch: int, prompt: int) -> float:
    """Seconds of reading the prompts of a batch, all of them at once."""
    load = IterationLoad.of(chunk=prompt, context=0).times(batch)
    return running_example.cost().seconds(load)


def verify_s(batch: int, n_draft: int, context: int = CONTEXT) -> float:
    """Seconds of the pass that verifies the drafts of a batch."""
    drafted = Speculation(n_draft, Acceptance(0.0))
    load = drafted.verification(decodes(batch, context))
    return running_example.cost().seconds(load)


def parts_s(
    batch: int, n_draft: int, context: int = CONTEXT, source: str = ""
) -> dict[str, float]:
    """Seconds of a verification pass, part by part; they add up to :func:`verify_s`.

    With a ``source`` of drafts the parts of its own pass, one row a request.
    """
    draft = draft_cost(source) if source else None
    cost = draft or running_example.cost()
    load = decodes(batch, context)
    if n_draft:
        load = Speculation(n_draft, Acceptance(0.0)).verification(load)
    computing, reading = load.rows * cost.row_s, cost.read_s(load.rows)
    return {
        LONGER: max(computing, reading),
        SHORTER: cost.exposed_s(load.rows),
        "attention's arithmetic": load.pairs * cost.pair_s,
        "reading the cache": load.kv_tokens * cost.kv_token_s,
        "starting the layers": cost.overhead_s,
        "CPU, for each request": load.requests * cost.request_s,
    }


def touched(rows: int) -> float:
    """Routed experts of a layer of DeepSeek-V3 that so many rows are sent to."""
    shape = catalog.model(EXPERTS).ffn
    assert isinstance(shape, MoeFfn), "a mixture of experts"
    return float(
        TOUCHED_EXPERTS(
            n_experts=float(shape.n_experts),
            top_k=float(shape.top_k),
            n_rows=float(rows),
        )
    )


def free_rows() -> float:
    """Rows at which computing takes as long as reading the weights."""
    cost = running_example.cost()
    return cost.weights_s / cost.row_s


def drafting_s(batch: int, n_draft: int, source: str, context: int = CONTEXT) -> float:
    """Seconds of making the drafts of a batch."""
    drafted = Speculation(n_draft, Acceptance(0.0), draft_cost(source))
    return drafted.draft_s(decodes(batch, context), IterationLoad(0, 0, 0))


def speedup(
    batch: int, n_draft: int, law: Acceptance, source: str, context: int = CONTEXT
) -> float:
    """Tokens per second with drafts over those without; 1 with none."""
    if n_draft == 0:
        return 1.0
    spent_s = round_s(batch, n_draft, source, context)
    return law.tokens(n_draft) * plain_s(batch, context) / spent_s


def best(batch: int, law: Acceptance, source: str) -> tuple[int, float]:
    """The number of drafts with the largest speedup, and that; 0 if none gains."""
    tried = [(speedup(batch, k, law, source), -k) for k in range(MOST + 1)]
    gain, number = max(tried)
    return -number, gain


def round_s(batch: int, n_draft: int, source: str, context: int = CONTEXT) -> float:
    """Seconds of a round: the drafts and their verification; a plain pass with none."""
    if n_draft == 0:
        return plain_s(batch, context)
    drafted_s = drafting_s(batch, n_draft, source, context)
    return drafted_s + verify_s(batch, n_draft, context)


def marginal(batch: int, n_draft: int, law: Acceptance, source: str) -> float:
    """Tokens that the last draft of a chain adds, over the seconds that it adds."""
    more = law.survival(n_draft)
    return more / (
        round_s(batch, n_draft, source) - round_s(batch, n_draft - 1, source)
    )


def break_even(n_draft: int, law: Acceptance, source: str) -> int | None:
    """The smallest batch at which drafts lose, or None if none that fits does."""
    for batch in range(1, fits(source) + 1):
        if speedup(batch, n_draft, law, source) < 1:
            return batch
    return None


def break_even_unrecorded(n_draft: int, law: Acceptance, source: str) -> int | None:
    """The same if checks of more rows than are recorded launch one by one.

    Then such a check pays for launches as an iteration with a prompt does.
    """
    more_s = running_example.cost().prompt_s
    for batch in range(1, fits(source) + 1):
        unrecorded = batch * (n_draft + 1) > GRAPH_ROWS
        spent_s = round_s(batch, n_draft, source) + unrecorded * more_s
        if law.tokens(n_draft) * plain_s(batch) < spent_s:
            return batch
    return None


def engine_gain(batch: int, n_draft: int, law: Acceptance, source: str) -> float:
    """Speedup in the engine: time per token without drafts over that with them.

    All requests come at once, and their prompts are read in one iteration.
    """
    whole(of="request", most=10_000, batch=batch)
    requests = [
        Request(arrival_s=0.0, prompt_len=PROMPT, output_len=ANSWER, id=number)
        for number in range(batch)
    ]
    drafted = Speculation(n_draft, law, draft_cost(source))
    plain, fast = (
        simulate(
            requests,
            Pool(running_example.cost(), Chunked(batch * PROMPT), speculation=each),
        )
        for each in (None, drafted)
    )
    return float(np.mean(plain.tpot_s) / np.mean(fast.tpot_s))


@cache
def fits(source: str) -> int:
    """Requests at their longest, a slot each, that fit beside both models' weights."""
    target, draft = running_example.cost(), draft_cost(source)
    more = draft.kv_bytes_per_token if draft else 0.0
    weights = draft.weight_bytes if draft and source == SMALL else 0.0
    taken = target.weight_bytes + weights
    blocks = -(-(PROMPT + ANSWER) // 16)
    return requests_that_fit(
        float(MEMORY_SHARE) * target.hbm_bytes - taken,
        request_bytes=16 * blocks * (target.kv_bytes_per_token + more),
        vocab=running_example.model().vocab,
    )
