"""Splits of real GPUs: memory, conservation, limits, and the group beside them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab.afd import coupled, deployment
from llmserve_lab.afd.coupled import Copies
from llmserve_lab.afd.deployment import Split
from llmserve_lab.afd.exercise import check, in_flight, in_turn
from llmserve_lab.afd.page import comparison, tables
from llmserve_lab.catalog import accelerator
from llmserve_lab.deepseek.model.setup import DEEPSEEK
from tests.depth import examples

GPU = "h100-sxm"


def a_split(**changes: object) -> Split:
    made = Split(gpu=GPU, n_attn=56, n_ffn=40, copies="node")
    return replace(made, **changes)  # type: ignore[arg-type]


def test_both_kinds_together_hold_the_model() -> None:
    """Tensor by tensor: experts on FFN GPUs, all the rest on an Attention GPU."""
    experts = sum(t.params for t in DEEPSEEK.tensors() if t.name.startswith("experts."))
    shared = experts / 256
    rest = DEEPSEEK.params_total - experts - shared
    assert deployment.attn_bytes(GPU) == pytest.approx(rest, rel=2e-3)
    held = deployment.ffn_bytes(GPU, 32) * 32
    assert held == pytest.approx(experts + 32 * shared, rel=1e-9)


def test_caches_fill_what_the_weights_leave() -> None:
    room = 0.9 * float(accelerator(GPU).usable_bytes) - deployment.attn_bytes(GPU)
    each = DEEPSEEK.kv_bytes_per_token(2) * 4096
    assert deployment.attn_fits(GPU) == int(room / each)


@settings(max_examples=examples(20), deadline=None, derandomize=True, database=None)
@given(st.sampled_from([16, 24, 32, 40, 64]), st.integers(1, 120), st.integers(2, 4))
def test_a_period_is_no_shorter_than_any_machine_s_work(
    n_ffn: int, batch: int, m: int
) -> None:
    split = a_split(n_attn=96 - n_ffn, n_ffn=n_ffn, n_batches=m)
    part = {name: float(value) for name, value in split.layer_s(batch).items()}
    period = float(split.period_s(batch))
    for name in ("attn", "ffn", "out", "back"):
        assert period >= part[name]
    for overlap in ("free", "charged"):
        assert replace(split, overlap=overlap).period_s(batch) >= period
    assert replace(split, spread=0.5).period_s(batch) >= period
    assert m * period >= part["late"] + part["ffn"] + part["wire"] - 1e-12
    assert split.tpot_s(batch + 1) > split.tpot_s(batch)


def test_a_batch_keeps_target_and_memory_and_the_next_does_not() -> None:
    for target in (0.05, 0.1):
        for split in deployment.splits(GPU, 96, copies="node"):
            batch = split.batch_at(target)
            fits = deployment.attn_fits(GPU)
            slow = float(split.tpot_s(batch + 1)) > target
            assert slow or split.n_batches * (batch + 1) > fits
            assert not batch or float(split.tpot_s(batch)) <= target


@pytest.mark.parametrize("overlap", ["free", "charged"])
@pytest.mark.parametrize("factor", [0.75, 1.25])
def test_all_but_the_host_takes_as_much_longer_as_kernels_and_network(
    factor: float, overlap: coupled.Overlap
) -> None:
    """On either side a step scales as a whole, and each factor alone does less."""
    batch = np.arange(10.0, 60.0, 10.0)
    host = coupled.group(GPU, 96).assumptions.host_s

    def steps(off: coupled.Off) -> tuple[object, object]:
        twin = coupled.group(GPU, 96, coupled.HALVES[overlap], off=off)
        asked = twin.arguments(batch=batch, context=4096.0)
        split = a_split(overlap=overlap, off=off).tpot_s(batch)
        return split - host, coupled.step_s(twin, asked) - host

    both, kernels, network, plain = (
        steps(off)
        for off in ((factor, factor), (factor, 1.0), (1.0, factor), (1.0, 1.0))
    )
    for all_s, some_s, sent_s, own_s in zip(both, kernels, network, plain, strict=True):
        assert all_s == pytest.approx(factor * own_s)  # type: ignore[operator]
        ends = np.sort([own_s, all_s], axis=0)
        for alone_s in (some_s, sent_s):
            assert np.all((ends[0] <= alone_s) & (alone_s <= ends[1]))


@pytest.mark.parametrize("copies", ["expert", "node"])
def test_the_group_is_the_twin(copies: Copies) -> None:
    """With a copy for each expert, and overlap charged, it is the twin's own answer."""
    found = coupled.together(GPU, 96, 0.05, copies=copies, overlap="charged")
    twin = coupled.group(GPU, 96, found.overlap)
    own = twin.batch_at(20.0, context=4096, in_memory=True)
    if copies == "expert":
        assert found.batch == own
    assert found.batch >= own


def test_fewer_copies_are_never_slower() -> None:
    for n_ffn in (16, 40, 64):
        node, expert = (a_split(n_ffn=n_ffn, copies=c) for c in ("node", "expert"))
        assert node.period_s(64) <= expert.period_s(64)


def test_experts_that_do_not_fit_are_left_out() -> None:
    assert not a_split(n_ffn=8).fits and a_split(n_ffn=16).fits
    assert min(s.n_ffn for s in deployment.splits(GPU, 96)) == 16
    assert a_split().batch_at(0.001) == 0 == a_split().gpu_tokens_per_s(0.001)


@pytest.mark.long
def test_an_error_of_a_phase_moves_the_ratio_its_own_way() -> None:
    """Slower attention never wants fewer Attention GPUs for a full FFN."""
    low, high = tables.ratio_range(GPU, 0.05)
    assert low <= comparison.best(GPU, 0.05).ratio <= high
    assert len(tables.ratios_table().rows) == 6
    assert "40A–56F" in str(tables.instances_table())


def test_a_rate_of_the_ratios_has_its_own_time_in_brackets() -> None:
    """A GPU's tokens per second times the seconds of one are its requests."""
    table = tables.ratios_table()
    targets = (comparison.TIGHT_S, comparison.LOOSE_S)
    wanted = [(gpu, target) for gpu in comparison.DEVICES for target in targets]
    places = [table.columns.index(name) for name in ("split", "group")]
    unequal = False
    for (gpu, target), row in zip(wanted, table.rows, strict=True):
        split, group = comparison.best(gpu, target), comparison.whole(gpu, target)
        gpus = split.n_attn + split.n_ffn
        inside = split.n_attn * split.n_batches * split.batch_at(target)
        requests = (inside / gpus, group.batch)
        for place, batch in zip(places, requests, strict=True):
            rate, time = re.findall(r"[\d,]+", str(row[place]))
            assert batch / float(rate.replace(",", "")) == pytest.approx(
                float(time) / 1e3, abs=0.6e-3
            ), (gpu, target)
        one, other = (str(row[place]).split()[1:] for place in places)
        unequal |= one != other
    assert unequal  # so that exchanged brackets are seen


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_attn": 0}, "n_attn"),
        ({"copies": "row"}, "copies must be one of"),
        ({"context": 0}, "context must be positive"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        a_split(**changes)


def test_the_check_tells_good_from_bad() -> None:
    assert check(in_turn).startswith("not yet: Attention 3")
    assert check(in_flight).startswith("well done")

    def sharing(a: float, f: float, w: float, m: int, n: int) -> float:
        return n * max(a, f) + f + 2 * w

    assert check(sharing).startswith("not yet")
    with pytest.raises(ValueError, match="time above 0"):
        check(lambda *_: 0.0)


@settings(max_examples=examples(40), deadline=None, derandomize=True, database=None)
@given(st.floats(0.5, 9), st.floats(0.5, 9), st.floats(0, 5), st.integers(1, 6))
def test_the_pipeline_settles_at_the_longest(
    a: float, f: float, w: float, m: int
) -> None:
    """Its period is that of three bounds, which it has never heard of."""
    first, last = (in_flight(a, f, w, m, steps) for steps in (60, 120))
    longest = max(a, f, (a + f + 2 * w) / m)
    assert (last - first) / 60 == pytest.approx(longest, rel=0.05)
    assert np.isfinite(last)
