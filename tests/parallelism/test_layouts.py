"""Layouts of GPUs: the formulas, the engine and the bench say the same."""

from __future__ import annotations

from html import unescape

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.engine.timing.cost import IterationLoad
from llmserve_lab.parallelism import formulas as f
from llmserve_lab.parallelism.arguments import CHOSEN_LINKS, DEVICE, MODEL, served
from llmserve_lab.parallelism.deployments import LAYOUTS, GpuLayout, eight
from llmserve_lab.parallelism.page.playground import bench
from llmserve_lab.parallelism.page.stills import decode_ms, prefill_rate

START = {
    "layout": "TP 8",
    "requests": 64,
    "context": 1000,
    "link": catalog.link("infiniband-ndr").name,
    "model": "Llama-3.1-70B",
}


@pytest.mark.parametrize("stages", [1, 2, 4, 8])
@pytest.mark.parametrize("batches", [1, 4, 8])
def test_the_formula_is_the_engine_cut_into_stages(stages: int, batches: int) -> None:
    known = served(MODEL, DEVICE, CHOSEN_LINKS[0]) | {"batch": 8.0, "context": 1000.0}
    if stages == 1:
        known |= {"stage_hop_s": 0.0}
    at = {"n_batches": float(batches), "n_stages": float(stages)}
    hop = {"stage_hop_s": 0.0} if stages == 1 else {}
    closed = float(f.PIPE_TOKEN_S.at(known, **at, **hop))
    layout = GpuLayout(stages=stages)
    step = layout.decode(8 * batches, 1000, batches)
    assert step.token_s == pytest.approx(closed, rel=1e-9)
    held = float(f.STAGE_BYTES.at(known, **at))
    assert step.gpu_bytes == pytest.approx(held, rel=1e-9)


def test_one_stage_is_the_engine_itself() -> None:
    cost = running_example.served_by(MODEL, DEVICE, tp=8)
    load = IterationLoad.of(chunk=1, context=1000).times(64)
    assert GpuLayout(tp=8).decode(64, 1000).token_s == pytest.approx(cost.seconds(load))


def test_bytes_of_a_layout_are_those_of_its_parts() -> None:
    pipe, group = GpuLayout(stages=8).sent_bytes(10), GpuLayout(tp=8).sent_bytes(10)
    assert group / pipe == pytest.approx(4 * MODEL.n_layers)
    both = GpuLayout(tp=4, stages=2).sent_bytes(10)
    assert pipe < both < group


def test_the_best_layout_depends_on_the_phase() -> None:
    assert min(LAYOUTS, key=decode_ms) == "TP 4 × PP 2"
    assert max(LAYOUTS, key=prefill_rate) == "PP 8"


def test_the_goal_of_the_bench_is_reached_by_one_layout() -> None:
    reached = [name for name in LAYOUTS if decode_ms(name) <= 20]
    assert reached == ["TP 4 × PP 2"]
    shown = unescape(bench().answer(**START | {"layout": reached[0]}))
    assert "19.6 ms" in shown and "it fits" in shown
    assert "must divide the requests" in bench().answer(
        **START | {"layout": "PP 8", "requests": 63}
    )
    assert "it does not fit" in bench().answer(**START | {"model": "Llama-3.1-405B"})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GpuLayout(stages=81), "stages must be at most n_layers, 80, got 81"),
        (lambda: GpuLayout(tp=0), "tp must be at least 1, got 0"),
        (lambda: GpuLayout(stages=4).decode(6, 10), "batches must divide the requests"),
        (lambda: GpuLayout().decode(0, 10), "requests must be at least 1, got 0"),
        (lambda: GpuLayout().prefill_rate(0), "chunk must be at least 1 token, got 0"),
        (
            lambda: eight("PP 3", catalog.link("nvlink4")),
            "layout must be one of TP 8, TP 4 × PP 2, TP 2 × PP 4, PP 8, got 'PP 3'",
        ),
    ],
)
def test_what_cannot_be_laid_out_is_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
