"""The plan of one's own model: by hand, beside the formulas, and in the engine."""

from __future__ import annotations

import json
from dataclasses import replace
from math import isclose, sqrt
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llmserve_lab import catalog, running_example, validation
from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity.demand import ServerDemand
from llmserve_lab.capacity.group import Group
from llmserve_lab.capacity.plan import SizingPlan, plan
from llmserve_lab.capacity.plan_command import main
from llmserve_lab.capacity.plan_run import Simulated, enough, kept
from llmserve_lab.capacity.plan_text import sentence, text
from llmserve_lab.disaggregation import formulas as pools
from llmserve_lab.disaggregation import worked_example
from llmserve_lab.engine import Chunked, Pool, simulate
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.workloads import Always, poisson_requests

LLAMA, QWEN, H100 = "llama-3.1-8b", "qwen3-32b", "h100-sxm"
USUAL = ServerDemand(prompt=1000, answer=200, ttft_s=1.0, tpot_s=0.015, rate=40.0)


def of(asked: ServerDemand = USUAL, model: str = LLAMA, gpu: str = H100) -> SizingPlan:
    return plan(catalog.model(model), catalog.accelerator(gpu), asked)


def one(asked: ServerDemand = USUAL, model: str = LLAMA, tp: int = 1) -> Group:
    return next(each for each in of(asked, model).groups if each.tp == tp)


def test_one_gpu_by_hand() -> None:
    """Llama-3.1-8B from its dimensions, the datasheet, and the fitted constants."""
    reached = validation.achieved()
    layers, width, inner, vocab, heads, kv_heads, head = (
        32,
        4096,
        14336,
        128256,
        32,
        8,
        128,
    )
    block = 2 * width * heads * head + 2 * width * kv_heads * head + 3 * width * inner
    read = layers * block + vocab * width  # the embedding table is only looked up
    norms = (2 * layers + 1) * width
    flops, bandwidth = 989.4e12 * reached.compute, 3.35e12 * reached.memory
    weights_s = 2 * (read + norms) / bandwidth
    row_s = 2 * read / flops
    pair_s = layers * 4 * heads * head / flops
    token_s = layers * 2 * kv_heads * head * 2 / bandwidth
    launch_s = layers * reached.layer_s
    more_s = launch_s * (reached.prompt_layers - 1)
    prompt_s = launch_s + more_s + reached.request_s + 1000 * 1001 / 2 * pair_s
    prompt_s += 1000 * row_s + (1 - reached.overlap) * weights_s
    own_s = reached.request_s + 1099 * token_s + 1100 * pair_s
    # gap(B) = a + b B + c B², with B/199 prompts a step; the promise is 15 ms.
    saved_s = launch_s + weights_s
    a = launch_s + weights_s
    b = own_s + (1 - reached.overlap) * row_s + (prompt_s - saved_s) / 199
    c = reached.overlap * row_s / 199
    batch = (sqrt(b * b + 4 * c * (0.015 - a)) - b) / (2 * c)
    rate = batch / (199 * 0.015)
    group = one()
    assert group.best is not None
    assert group.best.batch == pytest.approx(batch, rel=2e-3)
    assert group.best.rate == pytest.approx(rate, rel=2e-3)
    assert (group.replicas, group.gpus, group.limit) == (4, 4, "TPOT")
    room = 0.9 * float(catalog.accelerator(H100).usable_bytes) - group.weight_bytes
    each = 75 * 16 * layers * 2 * kv_heads * head * 2
    assert int((room - 0.2e9) // (each + 39 * vocab)) <= group.fits
    assert group.fits <= int(room // (each + 39 * vocab))  # a slot's working space
    step_s = a + batch * (own_s + (1 - reached.overlap) * row_s)
    with_prompt_s = prompt_s + batch * (own_s + row_s)
    busy = rate * with_prompt_s
    wait_s = busy * with_prompt_s / (2 * (1 - busy)) + step_s / 2
    assert group.best.wait_s == pytest.approx(wait_s, rel=5e-3)
    assert group.best.ttft_s == pytest.approx(wait_s + with_prompt_s, rel=5e-3)


def test_it_is_the_formulas_of_the_chapters() -> None:
    group = one()
    best = group.best
    assert best is not None
    assert 4 * best.rate == pytest.approx(
        worked_example.shared_rate(0.015, 1.0), rel=1e-3
    )
    step_s = group.cost.seconds(group.asked.decodes(best.batch))
    both_s = group.cost.seconds(
        group.asked.decodes(best.batch).plus(group.asked.reading)
    )
    gap_s = pools.SHARED_GAP_S(
        decode_step_s=step_s, arrival_rate=best.rate, ride_s=both_s - step_s
    )
    assert float(gap_s) == pytest.approx(best.tpot_s, rel=1e-9)
    queue_s = f.FIXED_QUEUE_S(arrival_rate=best.rate, service_s=both_s)
    assert float(queue_s) + step_s / 2 == pytest.approx(best.wait_s, rel=1e-9)


@pytest.mark.parametrize(("model", "tp"), [(LLAMA, 1), (QWEN, 2), (QWEN, 8)])
def test_the_engine_finds_the_same_times(model: str, tp: int) -> None:
    """Poisson arrivals of equal requests, at four fifths of what the plan allows.

    A step has room for the answers under way and one prompt.
    """
    group = one(replace(USUAL, tpot_s=0.04, rate=None), model, tp)
    assert group.best is not None
    rate = 0.8 * group.best.rate
    expected = group.at_rate(rate)
    requests = poisson_requests(
        rate_per_s=rate,
        prompt=Always(1000),
        output=Always(200),
        num_requests=3000,
        seed=2,
    )
    report = simulate(list(requests), Pool(group.cost, Chunked(1200)))
    warm = slice(600, -600)
    assert report.tpot_s[warm].mean() == pytest.approx(expected.tpot_s, rel=0.06)
    assert report.ttft_s[warm].mean() == pytest.approx(expected.ttft_s, rel=0.06)


ASKED = st.builds(
    ServerDemand,
    prompt=st.integers(1, 8000),
    answer=st.integers(2, 4000),
    ttft_s=st.floats(0.05, 10),
    tpot_s=st.floats(0.005, 0.3),
    rate=st.floats(0.1, 200),
    cached=st.floats(0, 0.99),
)


@settings(max_examples=25, deadline=None)
@given(ASKED, st.floats(1.0, 3.0), st.floats(1.0, 3.0))
def test_a_looser_promise_never_carries_less(
    asked: ServerDemand, a: float, b: float
) -> None:
    looser = replace(asked, ttft_s=a * asked.ttft_s, tpot_s=b * asked.tpot_s)
    for tight, loose in zip(of(asked).groups, of(looser).groups, strict=True):
        assert loose.carried_by_one >= tight.carried_by_one * (1 - 1e-9)


@settings(max_examples=25, deadline=None)
@given(ASKED)
def test_a_plan_keeps_what_it_says(asked: ServerDemand) -> None:
    found = of(asked, QWEN)
    assert asked.rate is not None
    fits = [each.fits for each in found.groups]
    assert fits == sorted(fits)  # more GPUs, more memory
    for each in found.groups:
        if each.best is None or each.planned is None:
            assert each.gpus == each.tp * each.replicas == 0
            continue
        assert each.best.batch <= each.fits + 1e-9
        for at in (each.best, each.planned):
            assert at.tpot_s <= asked.tpot_s * (1 + 1e-9)
            assert at.ttft_s <= asked.ttft_s * (1 + 1e-9)
            assert isclose(at.batch, at.rate * asked.steps * at.tpot_s, rel_tol=1e-9)
        assert each.replicas >= asked.rate / each.best.rate * (1 - 1e-9)
        assert each.replicas - 1 < asked.rate / each.best.rate
        assert isclose(each.planned.rate * each.replicas, asked.rate, rel_tol=1e-6)
        assert found.choice is not None and found.choice.gpus <= each.gpus


def test_a_larger_memory_holds_more() -> None:
    small, large = (of(USUAL, QWEN, gpu).groups[0] for gpu in (H100, "h200-sxm"))
    assert small.fits < large.fits


def test_what_is_cached_is_not_read() -> None:
    rates = [
        one(replace(USUAL, cached=share)).carried_by_one for share in (0, 0.5, 0.9)
    ]
    assert rates == sorted(rates) and rates[2] > 1.5 * rates[0]
    assert replace(USUAL, cached=0.999999).reading.rows == 1


def test_bands_and_what_nobody_measured() -> None:
    group = one()
    assert group.planned is not None
    expected = running_example.band("tpot", clients=round(group.planned.batch))
    assert group.tpot_band == expected and isinstance(expected, Band)
    assert isinstance(group.ttft_band, Unmeasured)
    within = group.replicas_within
    assert within is not None and within[0] <= group.replicas <= within[1]
    old = of(USUAL, LLAMA, "a100-80-sxm").groups[0]
    assert isinstance(old.tpot_band, Unmeasured) and old.replicas_within is None


def test_the_engine_keeps_it_below_the_limit() -> None:
    calm = one(replace(USUAL, tpot_s=0.02, rate=10.0))
    assert kept(calm).both > 0.9 and enough(calm) == Simulated(calm, 1, kept(calm))
    full = one(replace(USUAL, tpot_s=0.02, rate=47.0))  # of 48.2 with three
    assert full.replicas == 3 and kept(full).both < 0.9
    found = enough(full)
    assert found is not None and (found.servers, found.gpus) == (4, 4)
    assert found.kept == kept(full, servers=4) and found.kept.good
    with pytest.raises(ValueError, match="cached must be 0"):
        kept(one(replace(USUAL, cached=0.5)))
    with pytest.raises(ValueError, match="group must keep promises, got TP1"):
        kept(one(replace(USUAL, tpot_s=1e-3)))


def test_what_nobody_measured_is_named() -> None:
    said = text(of())
    assert "Outside everything measured: TTFT alone, TPOT alone, TTFT with the" in said
    errors = one().tpot_band
    assert isinstance(errors, Band) and f"{100 * errors.low:+.0f}..+" in said
    assert "Outside everything measured: TTFT alone, TPOT alone, requests/s" in text(
        of(USUAL, LLAMA, "a100-80-sxm")
    )


def test_why_there_is_no_choice() -> None:
    assert "too much for the promised TPOT" in sentence(of(replace(USUAL, tpot_s=1e-3)))
    assert "the promised TTFT" in sentence(of(replace(USUAL, ttft_s=1e-3)))
    nowhere = of(replace(USUAL, precision="fp8"), "deepseek-v3")
    assert sentence(nowhere) == "No choice: DeepSeek-V3 does not fit into one node."
    # 671 billion bytes, what is not cut again on seven GPUs, two tables in 16 bits
    assert "TP8: 679 GB of weights do not fit into 612 GB" in text(nowhere)


REFUSED = {
    "--prompt 0": "prompt must be at least 1 token, got 0",
    "--answer 1": "answer must be at least 2 token, got 1",
    "--cached 1": "cached must be in [0, 1), got 1.0",
    "--rate 0": "rate must be positive, got 0",
    "--gpus 0": "gpus must be at least 1 GPU, got 0",
    "--tpot soon": "must be like 5s, 5ms, 5us, got 'soon'",
    "--precision fp7": "precision must be one that H100 SXM computes in",
    "--prompt 200000": "prompt + answer must be at most the 131,072 tokens",
    "--gpu h300": "accelerator must be one of a100-80-sxm",
    "--simulate --cached 0.5": "cached must be 0 in a simulation, got 0.5",
}
WORDS = (
    "--model llama-3.1-8b --gpu h100-sxm --prompt 1000 --answer 200 "
    "--ttft 1s --tpot 20ms --rate 600/min"
)


@pytest.mark.parametrize(("words", "why"), REFUSED.items())
def test_what_is_refused(
    words: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*WORDS.split(), *words.split()])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([*WORDS.split(), "--simulate"])
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= 72  # a page cuts off what is wider
    said = " ".join(said.split())
    assert "10 requests/s" in said and "By means: 1 server of 1 H100 SXM" in said
    assert "keep both promises with 1 server of 1 H100 SXM." in said
    assert " Choice: 1 server of 1 H100 SXM, with which " in said
    config = {
        "model_type": "qwen3",
        "num_hidden_layers": 40,
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "num_attention_heads": 40,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "tie_word_embeddings": False,
        "max_position_embeddings": 40960,
        "hidden_act": "silu",
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config), "utf8")
    mine = ["--config", str(path), *WORDS.split()[2:], "--precision", "fp8", "--json"]
    main(mine)
    data = json.loads(capsys.readouterr().out)
    assert [each["tp"] for each in data["sizes"]] == [1, 2, 4, 8]
    assert data["asked"]["precision"] == "fp8" and data["choice"] in (1, 2, 4, 8)
    assert data["sentence"] == sentence(
        plan(
            catalog.model_from_config(config),
            catalog.accelerator(H100),
            ServerDemand(**data["asked"]),
        )
    )
