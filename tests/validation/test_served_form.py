"""The book's form of served mixtures: what each of its constants does, and to whom."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.data.trial_models import QWEN_35
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.validation.constants import achieved
from llmserve_lab.validation.fourth_rows import fourth_runs
from llmserve_lab.validation.launch_form import LaunchConstants, LaunchPredictor
from llmserve_lab.validation.protocol import requests_of
from llmserve_lab.validation.served import NOTHING, SERVED
from llmserve_lab.validation.served_form import (
    SHARED,
    ServedPredictor,
    walked_layers,
)
from tests.validation.served_sample import NAMES, ONE, sample, tpot_s


def test_with_nothing_more_it_is_the_form_before() -> None:
    """Bit for bit that of the fourth trial, times to the first token as well."""
    predictor = sample()
    before = LaunchPredictor(predictor.rows, predictor.exposures)
    few = {name: getattr(ONE, name) for name in ("kernel_s", "products", "launched")}
    theirs = before.launching(achieved(), LaunchConstants(**few))
    ours = predictor.served(achieved(), replace(NOTHING, **few))
    for kind in ("ttft", "tpot", "e2e"):
        assert getattr(ours, kind) == pytest.approx(getattr(theirs, kind), rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_more_of_each_constant_is_never_quicker(name: str) -> None:
    """And slower for exactly the rows that it is about."""
    predictor, sizes = sample(), (0.0, 0.5, 1.0, 3.0)
    times = [
        tpot_s(predictor, replace(ONE, **{name: size * getattr(ONE, name)}))
        for size in sizes
    ]
    about = np.ones(len(predictor.rows), dtype=bool)
    if name == "launched":
        about = predictor.label("engine") == "sglang"
    elif name == "context_s":
        about = np.array([shares(row.shape.attention) > 8 for row in predictor.rows])
        about &= predictor.label("engine") == "vllm"
    elif name == "four_bits":
        about = predictor.label("precision") == "fp4"
    assert about.any() and about.all() == (name in ("kernel_s", "products", "touched"))
    for less, more in pairwise(times):
        assert np.all(more[about] > less[about])
        assert np.array_equal(more[~about], less[~about])


def shares(attention: object) -> float:
    """Heads of queries on one of keys; none where a latent serves all."""
    if not isinstance(attention, GroupedQueryAttention):
        return 0.0
    return attention.n_heads / attention.n_kv_heads


@cache
def walking() -> ServedPredictor:
    """Runs of vLLM that walk along contexts: a client alone, and several."""
    rows = [row for row in fourth_runs() if walked_layers(row.shape, row.engine)]
    return ServedPredictor([row for row in rows if row.clients <= 16])


def test_a_context_is_walked_along_once_whoever_else_is_there() -> None:
    """By hand: the mean context of an answer, half of it written, times the layers.

    Of a client alone the iterations of its TPOT are one a token, and of several about
    the share that reads no prompt of others.
    """
    predictor = walking()
    more_s = tpot_s(predictor, ONE) - tpot_s(predictor, replace(ONE, context_s=0.0))
    clients = predictor.label("clients")
    assert {1} < {*clients}
    for place, row in enumerate(predictor.rows):
        asked = requests_of(row)
        context = np.mean([each.prompt_len + each.output_len / 2 for each in asked])
        by_hand = ONE.context_s * row.shape.n_layers * float(context)
        wide = 0.005 if row.clients == 1 else 0.1
        assert more_s[place] == pytest.approx(by_hand, rel=wide)


def test_a_first_token_waits_for_the_walks_of_its_iterations() -> None:
    """A client alone has no token in the cache before; with others it waits longer."""
    predictor = walking()
    slow, quick = (
        predictor.served(achieved(), each).ttft
        for each in (ONE, replace(ONE, context_s=0.0))
    )
    alone = predictor.label("clients") == 1
    assert slow[alone] == pytest.approx(quick[alone])
    assert np.all(slow[~alone] > quick[~alone])


def test_who_walks_is_told_by_engine_and_heads() -> None:
    shape = catalog.model("qwen3-235b-a22b")
    assert isinstance(shape.attention, GroupedQueryAttention)
    assert walked_layers(shape, "vllm") == shape.n_layers == 94
    assert walked_layers(shape, "sglang") == walked_layers(shape, "trtllm") == 0
    heads = shape.attention.n_heads
    edge = replace(shape.attention, n_kv_heads=heads // SHARED)
    assert walked_layers(replace(shape, attention=edge), "vllm") == 0
    assert walked_layers(catalog.model("deepseek-v3"), "vllm") == 0
    assert walked_layers(QWEN_35, "vllm") == QWEN_35.n_layers / QWEN_35.full_every


def test_experts_in_four_bits_multiply_in_their_share() -> None:
    """By hand, where products outweigh reading by far: a share of the time of each."""
    predictor = sample()
    rows = predictor.label("precision") == "fp4"
    none, half, whole = (
        tpot_s(predictor, replace(ONE, products=size, four_bits=share))[rows]
        for size, share in ((4.0, 0.0), (4.0, 0.5), (2.0, 1.0))
    )
    assert half == pytest.approx(whole) and np.all(half > none)
    assert {type(row.shape.ffn) for row in predictor.rows} == {MoeFfn}


def test_reading_experts_takes_its_share_and_nothing_else_changes() -> None:
    """Where products hide nothing, TPOT grows in proportion to the share read."""
    predictor, bare = sample(), replace(achieved(), overlap=0.0)
    times = [
        predictor.served(bare, replace(ONE, touched=share)).tpot
        for share in (0.0, 0.5, 1.0)
    ]
    longer = replace(ONE, products=0.0, four_bits=0.0)
    assert np.all(np.diff(times, axis=0) > 0)
    # The products of the rest still take their time: only their own part is compared.
    few = [
        predictor.served(bare, replace(longer, touched=share)).tpot
        for share in (1.0, 2.0, 3.0)
    ]
    assert few[2] - few[1] == pytest.approx(few[1] - few[0])


PERMUTED = {"context_s": "_walked", "four_bits": "_four", "launched": "_waits"}


def _worse(predictor: ServedPredictor, name: str, times: int) -> list[float]:
    """Losses over the true one, fitted again with a label exchanged among the rows."""
    rng, least = np.random.default_rng(5), SERVED.loss(predictor, SERVED.fit(predictor))
    found = []
    for _ in range(times):
        other = ServedPredictor(predictor.rows, predictor.exposures)
        held = getattr(other, PERMUTED[name])
        mixed = rng.permutation(len(other.rows))
        other.__dict__[PERMUTED[name]] = held[..., mixed]
        found.append(SERVED.loss(other, SERVED.fit(other)) / least)
    return found


@pytest.mark.parametrize("name", ["context_s", "launched"])
def test_a_label_exchanged_among_the_rows_is_worth_less(name: str) -> None:
    """Fitted again each time, so that a constant may shrink to nothing instead."""
    assert min(_worse(sample(), name, 3)) > 1.0


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="touched must be finite and at least 0"):
        replace(ONE, touched=-0.1)
    with pytest.raises(ValueError, match="rows must hold at least one measured row"):
        ServedPredictor(())
