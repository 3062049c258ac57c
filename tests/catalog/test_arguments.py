"""From a catalog record to arguments: every formula finds what it asks for."""

import pytest

from llmserve_lab.book.notation import quantity
from llmserve_lab.catalog import (
    ACCELERATORS,
    EFFICIENCIES,
    MODELS,
    PRECISIONS,
    machine,
    workload,
)
from llmserve_lab.roofline import formulas as f

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
    assert narrow["kv_bytes_per_token"] * 2 == wide["kv_bytes_per_token"]
    assert narrow["bytes_weight"] * 2 == wide["bytes_weight"]
    assert narrow["params_total"] == wide["params_total"]


def test_without_an_efficiency_the_datasheet_is_taken_at_its_word() -> None:
    known = machine(ACCELERATORS["h200-sxm"])
    assert known["eff_compute"] == known["eff_mem"] == 1.0
    assert known["hbm_bytes"] == float(ACCELERATORS["h200-sxm"].hbm_bytes)
    share = EFFICIENCIES["flashmla"]
    reached = machine(ACCELERATORS["h200-sxm"], efficiency=share)
    assert reached["eff_mem"] == float(share.memory)
    assert reached["peak_flops"] == known["peak_flops"]


def test_a_precision_that_the_machine_does_not_compute_in_is_refused() -> None:
    assert "fp8" in PRECISIONS
    with pytest.raises(LookupError, match=r"A100.*got 'fp8'"):
        machine(ACCELERATORS["a100-80-sxm"], precision="fp8")


def test_a_machine_that_nobody_has_described_is_refused() -> None:
    with pytest.raises(LookupError, match="undisclosed"):
        machine(ACCELERATORS["ascend-910c"])
