"""The fit's machine and that of the pages: one bill, but for the LM head."""

from dataclasses import fields

import pytest

from llmserve_lab.running_example import (
    cost,
    fitted_row_s,
    head_s,
    model,
    served_by,
)
from llmserve_lab.validation import achieved
from llmserve_lab.validation.rows import MeasuredRow, dense_rows
from llmserve_lab.validation.unit_work import bill_of, cost_of

IN_16_BITS = {
    (row.model, row.system, row.tp): row
    for row in dense_rows()
    if row.precision == "bf16"
}
PER_ROW = "row_s"
STORED = {"kv_bytes_per_token", "kv_copies", "weight_bytes", "hbm_bytes"}
SIZES = {"n_layers", "n_gpus", "max_context"}


@pytest.mark.parametrize("row", IN_16_BITS.values(), ids=str)
def test_fit_and_pages_differ_only_in_the_head_of_a_row(row: MeasuredRow) -> None:
    fitted = cost_of(bill_of(row, kv_bytes=2.0), achieved())
    pages = served_by(row.shape, row.accelerator, tp=row.tp)
    for each in fields(pages):
        if each.name not in {PER_ROW} | STORED | SIZES:
            ours, theirs = getattr(pages, each.name), getattr(fitted, each.name)
            assert ours == pytest.approx(theirs), each.name
    head = row.shape.vocab * row.shape.d_model
    with_head = row.shape.params_active / (row.shape.params_active - head)
    assert pages.row_s / fitted.row_s == pytest.approx(with_head)


def test_head_of_all_rows_is_one_matrix_for_each() -> None:
    head_flops = 2.0 * model().vocab * model().d_model
    row_flops = 2.0 * model().params_active
    assert head_s(1000) == pytest.approx(1000 * cost().row_s * head_flops / row_flops)
    assert fitted_row_s() + head_s(1) == pytest.approx(cost().row_s)
