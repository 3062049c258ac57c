"""What was measured lies above the bound; tables add up as they are printed."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog.evidence.measurements import SMALL_BATCH
from llmserve_lab.roofline import machine, measured
from llmserve_lab.roofline.iteration_count import walk
from llmserve_lab.running_example import device, model


def test_no_server_is_faster_than_its_bound() -> None:
    servers = measured.served()
    assert [each.row.clients for each in servers] == [8, 16, 32, 64, 128]
    for each in servers:
        assert each.bound.value < each.row.tpot_s < 2 * each.bound.value
        share = each.bound.value / each.row.tpot_s
        assert each.mbu.value == pytest.approx(share, rel=1e-9)  # all memory-bound
    shares = [each.mbu.value for each in servers]
    assert sorted(shares, reverse=True) == shares


def test_utilisation_is_that_of_a_walk() -> None:
    each = measured.served()[2]
    low, high = (
        walk(model(), batch=32, context=context, chunk=1)
        for context in (int(each.context), int(each.context) + 1)
    )
    could = each.row.tpot_s * float(device().peak("bf16"))
    assert low.iteration_flops / could < each.mfu.value * (1 + 1e-3)
    assert each.mfu.value < high.iteration_flops / could * (1 + 1e-3)


def test_the_shape_measured_is_that_of_the_running_example() -> None:
    for each in measured.served():
        shape = each.row.shape
        assert shape.params_total == model().params_total
        assert shape.kv_bytes_per_token() == model().kv_bytes_per_token()


def test_the_terms_add_up_as_they_are_printed() -> None:
    rows = measured.steps().rows
    for column in (1, 2):
        parts = [float(str(row[column]).split()[0]) for row in rows]
        assert sum(parts[:-1]) == pytest.approx(parts[-1], abs=1e-9)
    assert machine.terms(1)["read cache"] < machine.terms(2)["read cache"]


def test_one_request_on_eight_gpus_is_measured_above_its_bound() -> None:
    assert len(measured.bound_against_measurement().rows) == 2 * len(SMALL_BATCH)
    for row in measured.bound_against_measurement().rows:
        assert float(str(row[-1])) > 3
