"""The chapter's closed forms, counted while small models run and by their tensors."""

from __future__ import annotations

import math
import random

from llmserve_lab.catalog import ModelShape
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.end_to_end.arguments import block_of
from llmserve_lab.end_to_end.tally import Pass
from llmserve_lab.transformer import Transformer
from tests.counted import Case, counts
from tests.end_to_end.toys import differences, played, request, shape, tally

NORMS = ("input_layernorm", "post_attention_layernorm")
HEADS = ("q_proj", "k_proj", "v_proj", "o_proj")
WIDE = ("gate_proj", "up_proj", "down_proj")


def stored(model: ModelShape, *names: str) -> int:
    """Numbers that the arrays of layer 0 hold, those whose name begins like that."""
    layer = Transformer(model).weights.layer(0)
    return sum(a.size for name, a in layer.items() if name.startswith(names))


@counts(f.ATTN_PARAMS, by="executed")
def attn_params(rng: random.Random) -> Case:
    model = shape(rng)
    return Case(f.ATTN_PARAMS.given(block_of(model)), stored(model, *HEADS))


@counts(f.FFN_PARAMS, by="executed")
def ffn_params(rng: random.Random) -> Case:
    model = shape(rng)
    return Case(f.FFN_PARAMS.given(block_of(model)), stored(model, *WIDE))


@counts(f.NORM_PARAMS, by="executed")
def norm_params(rng: random.Random) -> Case:
    model = shape(rng)
    return Case(f.NORM_PARAMS.given(block_of(model)), stored(model, *NORMS))


@counts(f.BLOCK_PARAMS, by="executed")
def block_params(rng: random.Random) -> Case:
    model = shape(rng)
    return Case(f.BLOCK_PARAMS.given(block_of(model)), stored(model, ""))


@counts(f.STEP_LEN, by="executed")
def step_len(rng: random.Random) -> Case:
    size = request(rng)
    done, passes = _some_pass(rng, size)
    return Case({"prompt_len": size["prompt_len"], "step": done}, passes.rows)


@counts(f.STEP_PAIRS, by="executed")
def step_pairs(rng: random.Random) -> Case:
    size = request(rng)
    done, passes = _some_pass(rng, size)
    return Case({"prompt_len": size["prompt_len"], "step": done}, passes.pairs)


def _some_pass(rng: random.Random, size: dict[str, int]) -> tuple[int, Pass]:
    passes = played(rng, size, cached=False, model=None).passes
    done = rng.randrange(len(passes))
    return done, passes[done]


@counts(f.RECOMPUTE_ROWS, by="executed")
def recompute_rows(rng: random.Random) -> Case:
    size = request(rng)
    return Case({**size}, played(rng, size, cached=False, model=None).rows)


@counts(f.CACHED_ROWS, by="executed")
def cached_rows(rng: random.Random) -> Case:
    size = request(rng)
    return Case({**size}, played(rng, size, cached=True, model=None).rows)


@counts(f.RECOMPUTE_PAIRS, by="executed")
def recompute_pairs(rng: random.Random) -> Case:
    size = request(rng)
    return Case({**size}, played(rng, size, cached=False, model=None).pairs)


@counts(f.CACHED_PAIRS, by="executed")
def cached_pairs(rng: random.Random) -> Case:
    size = request(rng)
    return Case({**size}, played(rng, size, cached=True, model=None).pairs)


@counts(f.ROWS_RATIO, by="executed")
def rows_ratio(rng: random.Random) -> Case:
    size, model = request(rng), shape(rng)
    again, once = (played(rng, size, cached=c, model=model) for c in (False, True))
    return Case({**size}, again.rows / once.rows)


@counts(f.PAIRS_RATIO, by="executed")
def pairs_ratio(rng: random.Random) -> Case:
    size, model = request(rng), shape(rng)
    again, once = (played(rng, size, cached=c, model=model) for c in (False, True))
    return Case({**size}, again.pairs / once.pairs)


@counts(f.LONG_PROMPT_RATIO, by="executed")
def long_prompt_ratio(rng: random.Random) -> Case:
    """A prompt without end: what one more token of prompt costs is all that counts."""
    model, size = shape(rng), request(rng)
    longer = size | {"prompt_len": size["prompt_len"] + 1}
    slopes = [
        played(rng, longer, cached=c, model=model).rows
        - played(rng, size, cached=c, model=model).rows
        for c in (False, True)
    ]
    return Case({"new_tokens": size["new_tokens"]}, slopes[0] / slopes[1])


@counts(f.LONG_ANSWER_ROWS, by="executed")
def long_answer_rows(rng: random.Random) -> Case:
    """Rows grow as u² / 2 and as u: the leading terms, by differences of totals."""
    return _long_answer(rng, "rows", 2)


@counts(f.LONG_ANSWER_PAIRS, by="executed")
def long_answer_pairs(rng: random.Random) -> Case:
    """Pairs grow as u³ / 6 and as u² / 2."""
    return _long_answer(rng, "pairs", 3)


def _long_answer(rng: random.Random, what: str, degree: int) -> Case:
    model, prompt, new = shape(rng), rng.randint(1, 4), rng.randint(2, 9)
    leading = []
    for cached, order in ((False, degree), (True, degree - 1)):
        passes = tally(model, prompt=prompt, new=6, cached=cached).passes
        each = [getattr(one, what) for one in passes]
        totals = [sum(each[: i + 1]) for i in range(len(each))]
        leading.append(differences(totals, order) / math.factorial(order))
    return Case({"new_tokens": new}, new * leading[0] / leading[1])
