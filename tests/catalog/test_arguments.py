"""From a catalog record to arguments: every formula finds what it asks for."""

from collections.abc import Callable
from typing import Any

import pytest

from llmserve_lab.catalog import (
    ACCELERATORS,
    EFFICIENCIES,
    LINKS,
    MODELS,
    PRECISIONS,
    Cited,
    machine,
    wire,
    workload,
)
from llmserve_lab.formula.origin import Computed, Sourced
from llmserve_lab.notation import quantity
from llmserve_lab.roofline import formulas as f

ANY_KEY: Any = "a-key"
SIZE = {"batch": 4.0, "context": 100.0, "chunk": 2.0}


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.key)
@pytest.mark.parametrize("precision", ["bf16", "fp8"])
def test_a_model_and_a_machine_are_all_that_a_formula_needs(
    model: object, precision: str
) -> None:
    shape = MODELS[model.key]  # type: ignore[attr-defined]
    known = workload(shape, precision=precision) | machine(ACCELERATORS["h100-sxm"])
    for name, value in (known | SIZE).items():
        quantity(name).checked(value)
    for formula in (f.ITERATION_S, f.INTENSITY, f.CROSSOVER_CONTEXT):
        assert {leaf.name for leaf in formula.arguments} <= (known | SIZE).keys()


def test_half_the_bytes_are_half_the_cache() -> None:
    wide, narrow = (
        workload(MODELS["llama-3-8b"], precision=p) for p in ("bf16", "fp8")
    )
    for name in ("kv_bytes_per_token", "bytes_weight"):
        assert float(narrow[name]) * 2 == float(wide[name])
    assert float(narrow["params_total"]) == float(wide["params_total"])


def test_without_an_efficiency_all_but_the_memory_is_the_datasheets() -> None:
    known = machine(ACCELERATORS["h200-sxm"])
    assert float(known["eff_compute"]) == float(known["eff_mem"]) == 1.0
    assert known["hbm_bytes"] == ACCELERATORS["h200-sxm"].usable_bytes
    share = EFFICIENCIES["flashmla"]
    reached = machine(ACCELERATORS["h200-sxm"], efficiency=share)
    assert reached["eff_mem"] is share.memory
    assert reached["peak_flops"] == known["peak_flops"]


def test_a_precision_that_the_machine_does_not_compute_in_is_refused() -> None:
    assert "fp8" in PRECISIONS
    with pytest.raises(LookupError, match=r"A100.*got 'fp8'"):
        machine(ACCELERATORS["a100-80-sxm"], precision="fp8")


def test_a_precision_that_the_catalog_has_not_is_refused() -> None:
    with pytest.raises(LookupError, match=r"precision must be one of .*'xyz'"):
        workload(MODELS["llama-2-7b"], precision="xyz")


@pytest.mark.parametrize(
    ("ask", "name"),
    [
        (lambda: workload(ANY_KEY), "model"),
        (lambda: machine(ANY_KEY), "accelerator"),
        (lambda: machine(ACCELERATORS["h100-sxm"], efficiency=ANY_KEY), "efficiency"),
        (lambda: wire(ANY_KEY), "link"),
        (lambda: wire(LINKS["nvlink4"], efficiency=ANY_KEY), "efficiency"),
    ],
)
def test_a_key_is_no_record_and_the_message_says_how_to_find_it(
    ask: Callable[[], object], name: str
) -> None:
    with pytest.raises(TypeError, match=rf"{name} must be.*catalog\.{name}\(key\)"):
        ask()


def test_a_machine_that_nobody_has_described_is_refused() -> None:
    with pytest.raises(LookupError, match="undisclosed"):
        machine(ACCELERATORS["ascend-910c"])


def test_what_the_formulas_get_is_cited_and_in_the_unit_of_its_letter() -> None:
    everything = (
        workload(MODELS["deepseek-v3"])
        | machine(ACCELERATORS["h100-sxm"])
        | wire(LINKS["nvlink4"])
    )
    for name, value in everything.items():
        assert isinstance(value, Cited), name
        assert value.unit == quantity(name).unit
        assert value.source.strip()


def test_a_substitution_knows_the_sources_of_what_went_in() -> None:
    known = machine(ACCELERATORS["h100-sxm"])
    worked = f.RIDGE.worked(known)
    given = worked.of.given
    assert given["hbm_bw"] is ACCELERATORS["h100-sxm"].hbm_bw
    assert given["peak_flops"] is ACCELERATORS["h100-sxm"].peak("bf16")
    assert worked.of.formula is f.RIDGE and float(worked.of) == worked.value


def test_a_formula_gives_the_same_with_and_without_sources() -> None:
    known = workload(MODELS["llama-3-8b"]) | machine(ACCELERATORS["h100-sxm"])
    bare = {name: float(value) for name, value in known.items()}
    for formula in (f.ITERATION_S, f.INTENSITY, f.RIDGE_ROWS):
        assert formula.at(known, SIZE) == formula.at(bare, SIZE)


def test_a_result_that_is_said_keeps_its_origin() -> None:
    text = f.RIDGE.said(machine(ACCELERATORS["h100-sxm"]))
    assert text == "295 FLOP/byte" and isinstance(text, Sourced)
    assert isinstance(text.origin, Computed) and text.origin.formula is f.RIDGE
    with pytest.raises(TypeError, match="ridge does not ask for batch"):
        f.RIDGE.said(machine(ACCELERATORS["h100-sxm"]), batch=1.0)
