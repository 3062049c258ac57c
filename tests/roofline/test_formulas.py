"""The chapter's labels, and that what is derived is derived from what it says."""

from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.formula.formula import Formula
from llmserve_lab.formula.registry import formulas
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.formulas import limits, times, utilisation, work
from llmserve_lab.roofline.machine import decode
from llmserve_lab.running_example import ideal

MINE = [formula for formula in formulas() if formula in vars(f).values()]


def test_a_label_is_the_name_of_the_result_unless_two_share_it() -> None:
    variants = {formula.label for formula in MINE if formula.variant}
    assert variants == {
        "kv_bytes_per_token-mla",
        "attn_flops_per_pair-mla",
        "mfu-measured",
        "iteration_s-apart",
        "iteration_s-decode",
        "intensity-decode",
        "ridge-datasheet",
        "attainable_flops-datasheet",
        "linear_s-apart",
        "pairs_s-apart",
    }
    assert all(one.label.startswith(one.name) for one in MINE)


def test_each_part_hands_on_all_that_it_defines() -> None:
    for part in (work, limits, times, utilisation):
        for name in part.__all__:
            assert getattr(f, name) is getattr(part, name)
    parts = (work, limits, times, utilisation)
    handed_on = {name for part in parts for name in part.__all__}
    defined = {name for name, item in vars(f).items() if isinstance(item, Formula)}
    assert defined == handed_on
    assert len(handed_on) == len(MINE)


def test_a_name_is_that_of_the_result() -> None:
    for formula in MINE:
        names = [name for name, item in vars(f).items() if item is formula]
        upper = formula.name.upper()
        ends = ("", "_MLA", "_MEASURED", "_APART", "_DECODE", "_DATASHEET")
        assert names in [[f"{upper}{end}"] for end in ends]


@pytest.mark.parametrize("formula", MINE, ids=lambda formula: formula.label)
def test_every_formula_has_title_source_and_limits(formula: Formula) -> None:
    assert formula.title and formula.source and formula.holds
    assert not formula.holds.endswith(".")
    uses = {used.name for used in formula.uses}
    assert uses <= formula.known().keys()


def test_titles_are_unique() -> None:
    titles = [formula.title for formula in MINE]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("key", ["llama-2-7b", "llama-3-70b", "qwen3-32b"])
def test_kv_bytes_and_pair_flops_are_those_of_the_shape(key: str) -> None:
    model = MODELS[key]
    shape: Any = model.attention
    heads = {"n_heads": shape.n_heads, "d_head": shape.d_head}
    pair = f.ATTN_FLOPS_PER_PAIR(n_layers=model.n_layers, **heads)
    assert pair == model.attn_flops_per_pair()
    kappa = f.KV_BYTES_PER_TOKEN(
        n_layers=model.n_layers,
        n_kv_heads=shape.n_kv_heads,
        d_head=shape.d_head,
        bytes_kv=2,
    )
    assert kappa == model.kv_bytes_per_token(2)


def test_the_roof_is_flat_from_the_ridge_on() -> None:
    machine = {"peak_flops": 1e15, "hbm_bw": 3e12, "eff_compute": 0.7, "eff_mem": 0.9}
    ridge = f.RIDGE(**machine)
    x = ridge * np.array([0.25, 0.5, 1.0, 2.0, 4.0])
    roof = f.ATTAINABLE_FLOPS(**machine, intensity=x)
    assert roof[1] == pytest.approx(2 * roof[0])
    assert roof[2] == pytest.approx(2 * roof[1])
    assert roof[2:] == pytest.approx([7e14] * 3)


def test_an_iteration_lasts_as_long_as_its_longer_half() -> None:
    assert f.ITERATION_S(compute_s=3, weights_s=1, kv_s=1) == 3
    assert f.ITERATION_S(compute_s=1, weights_s=1, kv_s=1) == 2


def test_the_bound_of_the_scaling_chapter() -> None:
    """14 GB of weights at 2 TB/s are read 142.9 times a second."""
    found = f.ITERATIONS_PER_S(weight_bytes=14e9, hbm_bw=2e12, eff_mem=1)
    assert round(found, 1) == 142.9


def test_batch_and_context_share_one_memory() -> None:
    """A hyperbola: twice the context, half the requests."""
    memory = {"hbm_bytes": 8e10, "stored_bytes": 1.4e10, "kv_bytes_per_token": 5e5}
    one, two = f.BATCH_FITS(**memory, context=[1024, 2048])
    assert one == pytest.approx(2 * two)
    with pytest.raises(ValueError, match=r"batch_fits holds for: the weights fit"):
        f.BATCH_FITS(**{**memory, "hbm_bytes": 1e10}, context=1024)


@pytest.mark.parametrize(("batch", "context"), [(1, 1), (32, 1100), (512, 128)])
def test_decode_is_one_row_for_each_request(batch: int, context: int) -> None:
    """The two formulas of decode are the general ones, where attention waits."""
    known, size = ideal(), decode(batch, context)
    for of_decode, general in (
        (f.INTENSITY_DECODE, f.INTENSITY),
        (f.ITERATION_S_DECODE, f.ITERATION_S_APART),
    ):
        assert of_decode.at(known, size) == pytest.approx(general.at(known, size))
    assert f.RIDGE_DATASHEET.at(known) == pytest.approx(f.RIDGE.at(known))
