"""What was measured lies above the bound; tables add up as they are printed."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog.evidence.measurements import SMALL_BATCH
from llmserve_lab.engine import IterationLoad
from llmserve_lab.roofline import machine, measured
from llmserve_lab.roofline.iteration_count import IterationCount, walk
from llmserve_lab.running_example import PROMPT, cost, device, model


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
    """Requests are replaced one by one: each answer of 461 tokens follows a prompt."""
    each = measured.served()[2]
    flops, answer = 0.0, 461

    def prompt(rows: int) -> IterationCount:
        return walk(model(), batch=1, context=0, chunk=rows, last_scored=True)

    for _ in range(each.row.clients):
        flops += prompt(922).iteration_flops / answer
        flops += walk(model(), batch=1, context=1152, chunk=1).iteration_flops
    could = each.row.tpot_s * float(device().peak("bf16"))
    assert each.mfu.value == pytest.approx(flops / could, rel=2e-3)
    assert each.prompts_s < each.row.tpot_s / 4


def test_the_log_line_is_that_of_the_iteration() -> None:
    bill = walk(model(), batch=machine.BATCH, context=machine.MEAN_CONTEXT, chunk=1)
    seconds = cost().seconds(machine.decodes(machine.BATCH))
    rate, read = measured.log_line().split("MFU: ")[1].split(" TF/s/device ")
    assert float(rate) == pytest.approx(bill.iteration_flops / seconds / 1e12, abs=0.1)
    found = float(read.removesuffix(" GB/s/device"))
    assert found == pytest.approx(bill.iteration_bytes / seconds / 1e9, abs=0.1)


def test_a_prompt_takes_its_terms() -> None:
    parts = machine.prompt_terms()
    load = IterationLoad.of(chunk=PROMPT)
    assert sum(parts.values()) == pytest.approx(cost().seconds(load), rel=1e-12)
    assert parts["launches and gaps"] == pytest.approx(
        4 * machine.terms(1)["launches and gaps"]
    )


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
