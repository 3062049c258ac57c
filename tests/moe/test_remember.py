"""The five sentences that a reader keeps, each held in every state that is shown.

The numbers are found again by other means than those that print them: experts that are
drawn, groups that are tried one by one, ports that are filled, loads that are dealt.
"""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.catalog import accelerator
from llmserve_lab.catalog.evidence.measurements import ALL_TO_ALL
from llmserve_lab.moe import deadline, exchange_time, layer_time, serving, token_time
from llmserve_lab.moe.models import DEEPSEEK, per_layer
from llmserve_lab.moe.page import figures, questions
from llmserve_lab.moe.routing_sampler import draw, mean_distinct, rows_of_experts
from llmserve_lab.running_example import share
from llmserve_lab.validation import working_space

SPEC = serving.SPEC
ALIKE = np.ones(SPEC.n_experts)
GB = 1e9


def test_a_batch_reads_nearly_all_experts() -> None:
    seen = mean_distinct(ALIKE, n_rows=64, top_k=SPEC.top_k, trials=50)
    assert seen == pytest.approx(222, abs=1)
    assert seen / SPEC.top_k == pytest.approx(27.8, abs=0.15)
    stored, active = per_layer(DEEPSEEK)
    expert = (stored - active) / (SPEC.n_experts - SPEC.top_k)
    assert (active + (seen - SPEC.top_k) * expert) / active == pytest.approx(
        24.7, abs=0.15
    )
    figure = figures.touched()
    for rows in figures.STOPS["n_rows"]:
        for experts in figures.STOPS["n_experts"]:
            known = figure.values(n_rows=rows, n_experts=experts)
            assert min(8, experts) <= known["touched_experts"] <= experts
            assert known["read_ratio"] >= 1 or rows == 1


def machine(gpu: str) -> tuple[float, float]:
    """FLOPs and bytes a second as reached."""
    device = accelerator(gpu)
    compute = float(device.peak("fp8")) * float(share().compute)
    return compute, float(device.hbm_bw) * float(share().memory)


def test_experts_are_compute_bound_from_thousands_of_tokens_on() -> None:
    """One expert: a byte and two FLOPs for each parameter and token."""
    flops, bandwidth = machine("h800-sxm")
    rows = next(n for n in range(1, 1000) if 2 * n / flops >= 1 / bandwidth)
    assert rows == pytest.approx(225, abs=1)
    chosen = draw(ALIKE, n_rows=7198, top_k=SPEC.top_k)
    mean = rows_of_experts(chosen, SPEC.n_experts).mean()
    assert rows - 1 <= mean <= rows
    assert SPEC.n_experts // SPEC.top_k == 32


def held_bytes(gpus: int) -> float:
    """Weights of a GPU, tensor by tensor, experts dealt out; a byte a parameter."""
    return sum(
        t.params / (gpus if t.name.startswith("experts.") else 1)
        for t in DEEPSEEK.tensors()
    )


@pytest.mark.parametrize(("gpu", "fewest"), [("h800-sxm", 16), ("h200-sxm", 8)])
def test_the_smallest_group_is_the_first_that_fits(gpu: str, fewest: int) -> None:
    memory = 0.9 * float(accelerator(gpu).usable_bytes) - working_space()
    groups = [g for g in range(1, 257) if SPEC.n_experts % g == 0]
    fits = [g for g in groups if held_bytes(g) + 15 * GB <= memory]
    assert fits[0] == fewest == serving.least_ep(gpu)


def test_the_figure_of_memory_tells_the_truth_in_every_state() -> None:
    figure = figures.memory()
    assert figure.goal is not None
    for gpu in serving.GPUS:
        memory = 0.9 * float(accelerator(gpu).usable_bytes) - working_space()
        for ep in (4.0, *serving.GROUPS):
            for kept in figures.STOPS["reserved_bytes"]:
                known = figure.values(
                    gpu=accelerator(gpu).name, ep=ep, reserved_bytes=kept
                )
                fits = held_bytes(int(ep)) + kept <= memory
                assert known["holds"] == fits
                smaller = held_bytes(int(ep) // 2) + kept <= memory
                asked = gpu == "h800-sxm" and kept == 15 * GB
                assert figure.goal.met(known) == (asked and fits and not smaller)


def sending_s(gpus: int, rows: int) -> float:
    """Dispatch and combine: every copy through one of two ports, a byte or two each."""
    took = 0.0
    for width in (1, 2):
        copies = rows * SPEC.top_k
        far = copies * max(0, gpus - 8) / gpus
        near = copies - far - copies / gpus
        ports = (far * 7168 * width / 50e9, near * 7168 * width / 200e9)
        took += exchange_time.start_s() + max(ports)
    return took


def test_sending_takes_longer_than_the_experts_and_levels_off() -> None:
    figure = figures.group()
    assert figure.goal is not None
    before = 0.0
    for ep in serving.GROUPS[1:]:
        for rows in figures.STOPS["gpu_rows"]:
            known = figure.values(ep=ep, gpu_rows=rows)
            sent = known["dispatch_copies_s"] + known["combine_copies_s"]
            assert sent == pytest.approx(sending_s(int(ep), int(rows)))
            reached = known["layer_compute_s"] > known["layer_read_s"]
            first = 2 * known["layer_read_s"] >= known["layer_compute_s"]
            met = figure.goal.met(known)
            assert met == (rows == 128 and reached and first)
            if rows == serving.ROWS:
                experts = max(known["layer_read_s"], known["layer_compute_s"])
                assert before < sent < 525e-6 and sent > experts
                before = sent
                assert experts + sent == pytest.approx(555e-6, rel=0.06)
            if rows == serving.ROWS and ep > serving.GROUPS[1]:
                kept = deadline.promised_rows(deadline.in_turn_s, ep)
                assert kept > 20 * deadline.promised_rows(deadline.in_turn_s, 16.0)
    assert sending_s(16, 128) == pytest.approx(317e-6, rel=2e-3)
    assert sending_s(64, 128) == pytest.approx(482e-6, rel=2e-3)


def test_what_is_predicted_is_near_what_was_published() -> None:
    """The start is found again by trying; each size is predicted from the others."""
    found = exchange_time.compared()
    assert len(found) == 2 * len(ALL_TO_ALL) == 12
    assert exchange_time.mean_error() == pytest.approx(0.038, abs=0.003)
    assert exchange_time.worst_error() == pytest.approx(-0.126, abs=0.005)

    def loss(start: float) -> float:
        pairs = [
            (exchange_time.seconds(w, run.ep, start_s=start), float(took))
            for run in ALL_TO_ALL
            for w, took in zip(
                exchange_time.WAYS, (run.dispatch_s, run.combine_s), strict=True
            )
        ]
        return sum((said / took - 1) ** 2 for said, took in pairs)

    tried = np.arange(0, 100, 0.1) * 1e-6
    best = tried[int(np.argmin([loss(each) for each in tried]))]
    assert exchange_time.start_s() == pytest.approx(best, abs=1e-7)


def test_a_hot_gpu_has_more_to_compute_and_to_send_and_no_more_to_read() -> None:
    """Choices dealt out: a tenth to GPU 0, the rest to all in turn.

    Its experts take the longer of two: on 32 H800 the mean GPU reads longer than it
    computes, and the hot one computes more than twice as long as all read.
    """
    flops, bandwidth = machine("h800-sxm")
    expert = 3 * 7168 * 2048
    read, mean = 8 * expert / bandwidth, 2 * expert * 8 * 128 / flops
    assert mean < read and (0.1 * 32 + 0.9) * mean / read == pytest.approx(2.3, abs=0.1)
    found = layer_time.slower(32.0, 32 * 128.0, 0.1, "h800-sxm")
    assert found == pytest.approx(2.3, abs=0.05)
    for gpus, least, most in ((16, 1.4, 1.6), (32, 2.6, 2.8)):
        equal = layer_time.in_turn_s(gpus, 128.0)
        hot_s = token_time.hot_in_turn_s(gpus, 128.0, 0.1)
        assert least < hot_s / equal < most  # on 16 by sending alone
    assert layer_time.slower(16.0, 16 * 128.0, 0.1, "h800-sxm") == pytest.approx(1.0)
    for rows in (64.0, 1024.0):
        assert layer_time.slower(8.0, rows, 0.1) < 1.03
    choices = 80_000
    loads = np.full(8, 0.9 * choices / 8)
    loads[0] += 0.1 * choices
    assert loads.max() / loads.mean() == pytest.approx(1.7)
    assert questions.balancedness(0.1) == pytest.approx(loads.mean() / loads.max())
    assert layer_time.slower(8.0, 8192.0, 0.1) == pytest.approx(1.7, abs=0.01)
    assert layer_time.slower(8.0, 1024.0, 0.1) == pytest.approx(1.0, abs=0.01)
    for gpus in (16, 64):  # the same favourite costs a larger group more
        wider = np.full(gpus, 0.9 / gpus)
        wider[0] += 0.1
        assert wider.max() / wider.mean() > 1.7
