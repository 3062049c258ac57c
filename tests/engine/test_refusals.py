"""What cannot be asked or served is refused by name, and before anything is run."""

from dataclasses import replace
from typing import Any

import pytest

from llmserve_lab import catalog
from llmserve_lab.engine import (
    Chunked,
    Continuous,
    Disaggregated,
    IterationCost,
    Pool,
    Request,
    simulate,
)
from tests.engine.test_report import COST, POOL, stream


def test_what_cannot_be_served_is_refused() -> None:
    first = next(stream(1))
    late = Request(arrival_s=1, prompt_len=1, output_len=1, id=1)
    with pytest.raises(ValueError, match="in order of arrival_s, got 0"):
        simulate([late, first], POOL)
    long = Request(arrival_s=0, prompt_len=6_000, output_len=500, id=7)
    with pytest.raises(ValueError, match="request 7 must fit into the 400 blocks"):
        simulate([long], POOL)
    with pytest.raises(ValueError, match="clients must be at least 1 client, got 0"):
        simulate([first], POOL, clients=0)
    with pytest.raises(ValueError, match="think_s must be 0 where nobody waits"):
        simulate([first], POOL, think_s=1)
    with pytest.raises(TypeError, match="deployment must be a Pool or a Disagg"):
        simulate([first], COST)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"q must be in \[0, 100\], got 101"):
        simulate([first], POOL).percentile("ttft", 101)
    with pytest.raises(ValueError, match="metric must be one of"):
        simulate([first], POOL).percentile("tpt", 50)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [{"arrival_s": -1.0}, {"prompt_len": 0}, {"output_len": 2.5}, {"id": "a"},
     {"id": 2**53}],
)  # fmt: skip
def test_a_request_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    fields = {"arrival_s": 0.0, "prompt_len": 1, "output_len": 1, "id": 0}
    with pytest.raises(ValueError, match=f"{str(*wrong)} must be"):
        Request(**{**fields, **wrong})


@pytest.mark.parametrize("clients", [None, 2])
@pytest.mark.parametrize("wrong", [None, (0.0, 5, 5)])
def test_what_is_no_request_is_refused(clients: int | None, wrong: Any) -> None:
    with pytest.raises(TypeError, match="requests must be of type Request, got "):
        simulate([wrong], POOL, clients=clients)


LLAMA, H100 = catalog.model("llama-2-7b"), catalog.accelerator("h100-sxm")


def asks(prompt: int, answer: int) -> list[Request]:
    return [Request(arrival_s=0, prompt_len=prompt, output_len=answer, id=5)]


def test_a_model_reads_its_maximum_context_and_no_token_more() -> None:
    cost = IterationCost.of(LLAMA, H100)
    assert cost.max_context == LLAMA.max_context == 4096
    pool = Pool(cost, Chunked(512))
    split = Disaggregated(prefill=pool, decode=pool)
    for deployment in (pool, split):
        assert list(simulate(asks(4000, 96), deployment).id) == [5]
        for prompt, answer in ((4000, 97), (4096, 1), (1, 4096), (98_000, 10)):
            tokens = f"{prompt + answer:,}"
            rule = f"request 5 must have at most 4,096 tokens of .* got {tokens}"
            with pytest.raises(ValueError, match=rule):
                simulate(asks(prompt, answer), deployment)


def test_a_split_deployment_takes_what_both_of_its_models_read() -> None:
    short = Pool(IterationCost.of(LLAMA, H100), Continuous())
    long = replace(short, cost=replace(short.cost, max_context=None))
    for prefill, decode in ((short, long), (long, short)):
        with pytest.raises(ValueError, match="request 5 must have at most 4,096"):
            simulate(asks(4000, 97), Disaggregated(prefill=prefill, decode=decode))


def test_a_cost_without_a_model_has_no_maximum_context() -> None:
    cost = IterationCost(row_s=1e-6)
    assert cost.max_context is None
    report = simulate(asks(1_000_000, 2), Pool(cost, Continuous(), kv_blocks=10**5))
    assert list(report.id) == [5]
    unknown = IterationCost.of(replace(LLAMA, max_context=None), H100)
    assert unknown.max_context is None


@pytest.mark.parametrize("wrong", [0, -1, 2.5])
def test_a_maximum_context_is_a_number_of_tokens(wrong: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="max_context must be"):
        IterationCost(row_s=1e-3, max_context=wrong)
