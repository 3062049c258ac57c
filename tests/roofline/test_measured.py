"""What was measured lies above the bound; tables add up as they are printed."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog.evidence.measurements import SMALL_BATCH
from llmserve_lab.engine import IterationLoad
from llmserve_lab.roofline import bare, machine, measured
from llmserve_lab.roofline.diagnosis import HIGH_MBU, HIGH_MFU, diagnosis
from llmserve_lab.roofline.iteration_count import IterationCount, walk
from llmserve_lab.roofline.one_request import bounded
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


def test_one_gpu_alone_takes_what_the_servers_take() -> None:
    """Decodes and prompts timed apart, on another card, with other kernels."""
    for each in measured.served():
        assert each.bound.value < each.alone_s
        assert each.alone_s == pytest.approx(each.row.tpot_s, rel=0.06)
        prompts = each.row.clients * 922 / 461 / 1000 * bare.alone_s(chunk=1000)
        found = each.alone_s - bare.decode_s(each.row.clients, 1152)
        assert found == pytest.approx(prompts, rel=2e-3)
        assert prompts > each.prompts_s  # the datasheet's bound


def test_the_five_servers_are_in_the_first_two_rows_of_the_diagnosis() -> None:
    kinds = [
        diagnosis(
            s.mbu.value,
            s.mfu.value,
            cached=s.row.clients * s.context,
        )
        for s in measured.served()
    ]
    assert kinds == 4 * ["memory-bound by weights"] + ["mixed"]


@pytest.mark.parametrize(
    ("batch", "context"), [(478, 1100), (28, 16_384), (4, 131_072)]
)
def test_a_full_memory_is_read_so_that_bandwidth_is_in_use(
    batch: int, context: int
) -> None:
    """Therefore usage of the cache is asked for, and not a low MBU."""
    bill = walk(model(), batch=batch, context=context, chunk=1)
    seconds = cost().seconds(machine.decodes(batch, context))
    mbu = bill.iteration_bytes / seconds / float(device().hbm_bw)
    mfu = bill.iteration_flops / seconds / float(device().peak("bf16"))
    assert mbu > HIGH_MBU and mfu < HIGH_MFU
    kind = diagnosis(mbu, mfu, cached=batch * context)
    assert kind == "memory-bound by caches"
    assert diagnosis(mbu, mfu, cache_usage=0.99) == "out of room"


@pytest.mark.parametrize(
    ("batch", "context", "by"),
    [(64, 1100, "weights"), (160, 1100, "caches")],
)
def test_a_larger_batch_is_advised_only_where_it_gains_much(
    batch: int, context: int, by: str
) -> None:
    """Ten per cent more requests: by the bound, most of it more tokens, or little."""
    kind = diagnosis(0.6, 0.2, cached=batch * context)
    assert kind == f"memory-bound by {by}"
    more = 1.1 * machine.bound_s(batch, context)
    gain = more / machine.bound_s(round(1.1 * batch), context) - 1
    assert (gain > 0.05) == (by == "weights")


@pytest.mark.parametrize("batch", [296, 400, 1000])
@pytest.mark.parametrize("context", [1, 100, 250, 380])
def test_beyond_the_ridge_few_cached_tokens_do_not_leave_the_products_idle(
    batch: int, context: int
) -> None:
    """So a high MBU with a low MFU is never that of many rows with small caches."""
    bill = walk(model(), batch=batch, context=context, chunk=1)
    if bill.kv_read_bytes < bill.weight_bytes:
        seconds = bill.iteration_bytes / HIGH_MBU / float(device().hbm_bw)
        mfu = bill.iteration_flops / seconds / float(device().peak("bf16"))
        assert mfu > HIGH_MFU  # at the MBU that just counts as high, or above


def test_what_the_diagnosis_says_of_prompts_and_of_neither() -> None:
    assert diagnosis(0.45, 0.28) == "compute-bound"
    assert diagnosis(0.29, 0.03) == "overhead-bound"
    assert diagnosis(0.29, 0.03, gaps=False) == "slow kernels"
    for mbu, mfu in ((0.6, 0.1), (0.6, 0.3), (0.1, 0.3)):  # a trace decides no other
        assert diagnosis(mbu, mfu) == diagnosis(mbu, mfu, gaps=False)


def test_the_log_line_is_that_of_the_iteration() -> None:
    bill = walk(model(), batch=machine.BATCH, context=machine.MEAN_CONTEXT, chunk=1)
    seconds = cost().seconds(machine.decodes(machine.BATCH))
    wanted = (bill.iteration_flops / seconds, bill.iteration_bytes / seconds)
    assert measured.logged() == pytest.approx(wanted, rel=1e-3)


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
    """Each is rounded to three decimals of a millisecond, and so is the whole."""
    found = measured.step_terms()
    for times in ([x.bound_s for x in found], [x.fitted_s for x in found]):
        *parts, whole = (round(1e3 * each, 3) for each in times)
        assert sum(parts) == pytest.approx(whole, abs=1e-9)
    assert machine.terms(1)["read cache"] < machine.terms(2)["read cache"]


def test_one_request_on_eight_gpus_is_measured_above_its_bound() -> None:
    assert len(bounded()) == 2 * len(SMALL_BATCH)
    assert all(each.ratio > 3 for each in bounded())
