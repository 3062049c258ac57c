"""The chapter's closed forms: paths summed, passes run, and a day of rounds."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from llmserve_lab.engine import (
    Acceptance,
    Chunked,
    IterationCost,
    Pool,
    Request,
    Speculation,
    simulate,
)
from llmserve_lab.speculative import formulas as f
from llmserve_lab.speculative.enumeration import law_of_a_pass, mean_tokens
from llmserve_lab.transformer import Meter, Transformer, cumulative, tiny_shape
from tests.counted import Case, counts


def laws(rate: float, falls: float) -> tuple[Any, Any]:
    """A target and a draft that have α·r^(j−1) in common at place j of the chain."""

    def target(text: tuple[int, ...]) -> Any:
        kept = rate * falls ** len(text)
        return np.array([kept, 1 - kept])

    return target, lambda text: np.array([1.0, 0.0])


def chain(rng: random.Random) -> tuple[float, float, int]:
    return rng.uniform(0.1, 0.95), rng.uniform(0.5, 0.99), rng.randint(1, 6)


@counts(f.ACCEPTED, by="executed")
def accepted(rng: random.Random) -> Case:
    rate, _, drafts = chain(rng)
    values = {"accept_rate": rate, "n_draft": drafts}
    return Case(values, mean_tokens(*laws(rate, 1.0), drafts))


@counts(f.ACCEPTED_FALLING, by="executed")
def accepted_falling(rng: random.Random) -> Case:
    rate, falls, drafts = chain(rng)
    values = {"accept_rate": rate, "accept_fall": falls, "n_draft": drafts}
    return Case(values, mean_tokens(*laws(rate, falls), drafts))


@counts(f.SURVIVAL, by="executed")
def survival(rng: random.Random) -> Case:
    rate, falls, place = chain(rng)
    found = law_of_a_pass(*laws(rate, falls), place)
    kept = sum(chance for tokens, chance in found.items() if len(tokens) > place)
    return Case({"accept_rate": rate, "accept_fall": falls, "draft_place": place}, kept)


SHAPE = tiny_shape()
MODEL = Transformer(SHAPE)
MATRICES = sum(
    each.params_active
    for each in SHAPE.tensors()
    if len(each.shape) == 2 and "embed" not in each.name
)
SIZES = {
    "params_active": MATRICES,
    "attn_flops_per_pair": SHAPE.attn_flops_per_pair(),
    "params_read": MATRICES,
    "bytes_weight": 2.0,
    "kv_bytes_per_token": SHAPE.kv_bytes_per_token(2),
}


def verified(rng: random.Random) -> tuple[dict[str, float], Meter, int]:
    """Run the rows of a verification pass: a newest token and drafts, on caches."""
    batch, context, drafts = rng.randint(1, 4), rng.randint(1, 9), rng.randint(0, 4)
    caches = [MODEL.new_cache(context + drafts + 1) for _ in range(batch)]
    for cache in caches:
        MODEL.forward([rng.randrange(SHAPE.vocab) for _ in range(context)], cache)
    rows = [1 + drafts] * batch
    tokens = [rng.randrange(SHAPE.vocab) for _ in range(sum(rows))]
    meter = Meter()
    done = MODEL.forward_packed(tokens, cumulative(rows), caches, run=meter.on())
    values = {"batch": batch, "context": context, "n_draft": drafts} | SIZES
    return values, meter, len(done)


@counts(f.VERIFY_ROWS, by="executed")
def verify_rows(rng: random.Random) -> Case:
    values, _, rows = verified(rng)
    return Case(f.VERIFY_ROWS.given(values), rows)


@counts(f.VERIFY_PAIRS, by="executed")
def verify_pairs(rng: random.Random) -> Case:
    """The meter counts a pair once a layer; the heads share it."""
    values, meter, _ = verified(rng)
    return Case(f.VERIFY_PAIRS.given(values), meter.useful_pairs / _visits())


def _visits() -> int:
    """How often a pair is met: found by a pass of one row, which sees itself."""
    meter = Meter()
    MODEL.forward([0], run=meter.on())
    return meter.useful_pairs


def machine(rng: random.Random) -> dict[str, float]:
    return {
        "peak_flops": 10 ** rng.uniform(6, 8),
        "eff_compute": 0.5,
        "hbm_bw": 10 ** rng.uniform(6, 8),
        "eff_mem": 0.8,
        "overlap": rng.choice([0.0, 0.5, 1.0]),
        "overhead_s": 0.25,
        "request_s": 0.125,
    }


@counts(f.VERIFY_LINEAR_S, by="executed")
def verify_linear_s(rng: random.Random) -> Case:
    values, meter, _ = verified(rng)
    known = values | machine(rng)
    counted = meter.linear_flops / (0.5 * known["peak_flops"])
    return Case(f.VERIFY_LINEAR_S.given(known), counted)


@counts(f.VERIFY_ATTENTION_S, by="executed")
def verify_attention_s(rng: random.Random) -> Case:
    values, meter, _ = verified(rng)
    known = values | machine(rng)
    counted = meter.useful_attn_flops / (0.5 * known["peak_flops"])
    return Case(f.VERIFY_ATTENTION_S.given(known), counted)


def bill(values: dict[str, float], meter: Meter, known: dict[str, float]) -> float:
    """Seconds of a pass that was run: what was done, at the machine's rates."""
    per_s, bytes_per_s = 0.5 * known["peak_flops"], 0.8 * known["hbm_bw"]
    products = meter.linear_flops / per_s
    weights = MATRICES * 2.0 / bytes_per_s
    cached = values["batch"] * values["context"] * SIZES["kv_bytes_per_token"]
    total = products + weights - known["overlap"] * min(products, weights)
    total += meter.useful_attn_flops / per_s + cached / bytes_per_s
    return total + 0.25 + 0.125 * values["batch"]


@counts(f.VERIFY_S, by="executed")
def verify_s(rng: random.Random) -> Case:
    values, meter, _ = verified(rng)
    known = values | machine(rng)
    return Case(f.VERIFY_S.given(known), bill(values, meter, known))


def undrafted(rng: random.Random) -> tuple[dict[str, float], Meter]:
    """A pass that happens to have no drafts."""
    values, meter, _ = verified(rng)
    while values["n_draft"]:
        values, meter, _ = verified(rng)
    return values, meter


@counts(f.PLAIN_LINEAR_S, by="executed")
def plain_linear_s(rng: random.Random) -> Case:
    values, meter = undrafted(rng)
    known = values | machine(rng)
    counted = meter.linear_flops / (0.5 * known["peak_flops"])
    return Case(f.PLAIN_LINEAR_S.given(known), counted)


@counts(f.PLAIN_ATTENTION_S, by="executed")
def plain_attention_s(rng: random.Random) -> Case:
    values, meter = undrafted(rng)
    known = values | machine(rng)
    counted = meter.useful_attn_flops / (0.5 * known["peak_flops"])
    return Case(f.PLAIN_ATTENTION_S.given(known), counted)


@counts(f.PLAIN_PASS_S, by="executed")
def plain_pass_s(rng: random.Random) -> Case:
    values, meter = undrafted(rng)
    known = values | machine(rng)
    return Case(f.PLAIN_PASS_S.given(known), bill(values, meter, known))


def lockstep(rng: random.Random, rate: float) -> tuple[dict[str, float], float, float]:
    """A closed batch in the engine, with drafts and without: seconds of both.

    The cache costs nothing here, so that all passes take equally long; drafts are kept
    always or never, so that nothing is left to chance.
    """
    batch, drafts, rounds = rng.randint(1, 5), rng.randint(1, 4), rng.randint(2, 5)
    target = IterationCost(row_s=rng.uniform(0.01, 2), weights_s=5.0, overhead_s=0.25)
    cost = rng.uniform(0.1, 0.9)
    plain_s = 5.25 if batch * target.row_s <= 5 else batch * target.row_s + 0.25
    draft = IterationCost(overhead_s=cost * plain_s)
    kept = drafts if rate else 0
    tokens = 1 + rounds * (kept + 1)
    requests = [
        Request(arrival_s=0, prompt_len=1, output_len=tokens, id=i)
        for i in range(batch)
    ]
    chunked = Chunked(batch * (drafts + 1))
    law = Speculation(drafts, Acceptance(rate), draft)
    spent = [
        _decoding_s(requests, Pool(target, chunked, kv_blocks=999, speculation=each))
        for each in (law, None)
    ]
    values = {
        "n_draft": drafts,
        "draft_cost": cost,
        "plain_pass_s": spent[1] / (tokens - 1),
        "verify_s": max(5.0, batch * (drafts + 1) * target.row_s) + 0.25,
    }
    return values, spent[0], float(rounds)


def _decoding_s(requests: list[Request], pool: Pool) -> float:
    report = simulate(requests, pool)
    return float(report.last_token_s.max() - report.first_token_s.max())


@counts(f.SPECULATIVE_S, by="executed")
def speculative_s(rng: random.Random) -> Case:
    values, spent_s, rounds = lockstep(rng, rng.choice([0.0, 1.0]))
    return Case(values, spent_s / rounds)


@counts(f.SPEEDUP, by="executed")
def speedup(rng: random.Random) -> Case:
    values, spent_s, rounds = lockstep(rng, 1.0)
    tokens = rounds * (values["n_draft"] + 1)
    plain_s = tokens * values["plain_pass_s"]
    certain = {"accept_rate": 1.0, "accept_fall": 1.0}
    return Case(values | certain, plain_s / spent_s)


@counts(f.ACCEPTED_NEEDED, by="executed")
def accepted_needed(rng: random.Random) -> Case:
    """Tokens that passes without drafts make in the time of a speculative one."""
    values, spent_s, rounds = lockstep(rng, 0.0)
    made = spent_s / rounds / values["plain_pass_s"]
    return Case(values, made)
