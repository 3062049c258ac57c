"""The figures and the bench say what the engine and the closed forms say."""

import math
from functools import cache, partial
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from llmserve_lab.catalog import ACCELERATORS, MODELS
from llmserve_lab.disaggregation.page import figures
from llmserve_lab.disaggregation.page import playground as module
from llmserve_lab.disaggregation.page.charts import INKS, OVERHEAD_S
from llmserve_lab.disaggregation.topologies import (
    CHUNKS,
    POOLS,
    WHOLE,
    deployments,
    distributions,
    example,
    side_by_side,
    table,
)
from llmserve_lab.engine import Disaggregated, IterationCost, Pool
from llmserve_lab.page.live.controls import Choice
from llmserve_lab.page.widget import Bench
from llmserve_lab.workloads import write_made_up
from tests.benches import answered
from tests.formula.javascript import evaluate


def test_a_link_hides_the_cache_or_falls_behind() -> None:
    figure = figures.sending()
    for link, word in (
        ("InfiniBand NDR", "hides it"),
        ("InfiniBand HDR", "falls behi"),
    ):
        for prompt_len in (2048.0, 8192.0):
            assert word in figure.caption(link=link, prompt_len=prompt_len)
    assert "hides it" in figure.caption(link="InfiniBand HDR", model="Llama-3-8B")


def test_the_map_turns_with_overlap_prompt_load_and_link() -> None:
    figure = figures.when_to_split()
    many = {"arrival_rate": 200.0}
    for settings, who in (
        ({"overlap": 0.0, "prompt_len": 32_768.0}, "two pools."),
        ({"overlap": 1.0, "prompt_len": 32_768.0}, "one engine."),
        ({"prompt_len": 128.0}, "one engine."),
        ({"arrival_rate": 1.0}, "one engine."),
        ({"link_bw": 5e9}, "one engine."),
    ):
        assert figure.caption(**many | settings).endswith(who)


@pytest.mark.parametrize("build", [figures.pool_rates, figures.when_to_split])
def test_every_model_keeps_every_target_on_every_gpu(build: Any) -> None:
    """Else a step leaves less than one cache takes, and the formulas refuse."""
    figure = build()
    choices = {c.name: c.options for c in figure.controls if isinstance(c, Choice)}
    ends = {slider.name: slider.stops for slider in figure.sliders}
    tightest = {name: ends[name][-1] for name in ("prompt_len", "new_tokens")}
    tightest |= {name: ends[name][0] for name in ("tpot_target", "overlap")}
    if figure.name == "pool-rates":
        tightest["overhead_s"] = ends["overhead_s"][-1]
    for model in choices["model"]:
        for gpu in choices["accelerator"]:
            known = figure.values(model=model, accelerator=gpu, **tightest)
            assert all(value >= 0 for value in known.values())


def cell_of_the_map(i: int, j: int, **settings: Any) -> dict[str, Any]:
    """What the browser works out for a column and a row, step after step."""
    figure = figures.when_to_split()
    cell: dict[str, Any] = {"i": i, "j": j}
    known = figure.values(**settings)
    for step in figure.spec["layer"][0]["transform"]:
        if step.get("as", "j") not in cell and "calculate" in step:
            cell[step["as"]] = evaluate(step["calculate"], **known, datum=cell)
    return cell


@pytest.mark.parametrize(("i", "j"), [(0, 0), (3, 9), (9, 4), (18, 12)])
def test_a_cell_of_the_map_is_what_the_formulas_say(i: int, j: int) -> None:
    """The browser's steps against NumPy's readouts."""
    figure, cell = figures.when_to_split(), cell_of_the_map(i, j)
    rate = cell["load"] / cell["shared_gpu_s"]
    stated = figure.values(prompt_len=cell["prompt_len"], arrival_rate=rate)
    assert cell["one"] == stated["shared_gpus"] == math.ceil(cell["load"])
    assert cell["two"] == stated["pools_gpus"]
    assert (cell["who"] == "fewer in two pools") == (stated["fewer"] == 0)


@pytest.mark.parametrize(
    ("key", "i", "target", "served"),
    [
        ("llama-2-7b", 20, 0.025, True),
        ("qwen3-32b", 18, 0.025, True),
        ("qwen3-32b", 19, 0.025, False),
        ("qwen3-32b", 20, 0.1, False),
    ],
)
def test_the_map_says_where_no_gpu_serves(
    key: str, i: int, target: float, served: bool
) -> None:
    """Counted: bytes of one cache against the room, and against a step's reading."""
    model, h100 = MODELS[key], ACCELERATORS["h100-sxm"]
    cell = cell_of_the_map(i, 0, model=model.name, tpot_target=target)
    one_bytes = (cell["prompt_len"] + 200) * model.kv_bytes_per_token(2)
    spare_s = target - OVERHEAD_S - model.weight_bytes() / float(h100.hbm_bw)
    room = float(h100.hbm_bytes) - model.weight_bytes()
    assert served == (one_bytes < min(room, spare_s * float(h100.hbm_bw)))
    assert served == (cell["who"] != next(iter(INKS)))


@cache
def made() -> Bench:
    return module.bench(example())


answer = partial(answered, made)


def test_the_bench_opens_with_the_example_of_the_chapter() -> None:
    html = answer()
    assert made().picture.html() in html
    assert table(example())._repr_html_() in html


def test_the_bench_reads_a_trace(tmp_path: Path) -> None:
    write_made_up(tmp_path, num_requests=40)
    html = answer(file=str(tmp_path / "burstgpt.csv"), reader="burstgpt")
    assert "40 requests on the same GPUs" in html
    wrong = unescape(answer(file=str(tmp_path / "burstgpt.csv"), reader="azure"))
    assert "Not possible: " in wrong and "line 1: TIMESTAMP must be a column" in wrong
    assert "Not possible: " in answer(file="nowhere.csv")


def test_the_bench_makes_a_trace_up_in_every_format(tmp_path: Path) -> None:
    write_made_up(tmp_path, num_requests=20)
    laws = {"prompt": 1, "output": 1, "rate": 1, "most": 20}
    for path in tmp_path.iterdir():
        own = module.requests(reader=path.stem, file=module.MADE_UP, **laws)
        read = module.requests(reader=path.stem, file=str(path), **laws)
        assert [r.prompt_len for r in own] == [r.prompt_len for r in read]


def test_answers_of_one_token_have_no_gaps() -> None:
    html = answer(output=1, rate=1000)
    assert "bench-error" not in html and html.count("<td>–</td>") == 9


def test_a_model_that_does_not_fit_is_answered_in_a_sentence() -> None:
    assert 'class="bench-error"' in answer(prompt=100_000, model="Qwen3-32B", rate=1)


def test_all_three_deployments_have_the_same_gpus() -> None:
    cost = IterationCost(row_s=1e-5, kv_bytes_per_token=1, hbm_bytes=1e6)
    for way in deployments(cost=cost, n_prefill=3, n_decode=2, link="nvlink4").values():
        gpus = (
            way.prefill.replicas + way.decode.replicas
            if isinstance(way, Disaggregated)
            else way.replicas
        )
        assert gpus == 5


def test_the_picture_names_every_deployment() -> None:
    sentence = distributions(example()).sentence
    assert all(name in sentence for name in (WHOLE, CHUNKS, POOLS))


def test_every_deployment_answers_every_request() -> None:
    cost = IterationCost(row_s=1e-5, kv_bytes_per_token=1, hbm_bytes=1e6)
    requests = module.requests(
        prompt=50, output=5, rate=100, reader="azure", file="", most=30
    )
    pools: dict[str, Pool | Disaggregated] = deployments(
        cost=cost, n_prefill=1, n_decode=1, link="pcie-gen5", link_latency_s=0.0
    )
    for report in side_by_side(requests, pools).values():
        assert report.num_requests == 30
        assert report.output_len.sum() == sum(each.output_len for each in requests)
