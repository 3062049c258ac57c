"""The figures and the bench say what the engine and the closed forms say."""

from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from llmserve_lab.book.bench import Bench
from llmserve_lab.disaggregation import bench as module
from llmserve_lab.disaggregation import figures
from llmserve_lab.disaggregation.deployments import (
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
from llmserve_lab.workloads import write_made_up


def test_a_link_hides_the_cache_or_falls_behind() -> None:
    figure = figures.sending()
    for link, word in (
        ("InfiniBand NDR", "hides it"),
        ("InfiniBand HDR", "falls behi"),
    ):
        for prompt_len in (2048.0, 8192.0):
            assert word in figure.caption(link=link, prompt_len=prompt_len)
    assert "hides it" in figure.caption(link="InfiniBand HDR", model="Llama-3-8B")


def test_the_map_turns_with_the_overlap_and_the_prompt() -> None:
    figure = figures.when_to_split()
    for settings, who in (
        ({"overlap": 0.0, "prompt_len": 32_768.0}, "two pools."),
        ({"overlap": 0.0, "prompt_len": 128.0}, "one engine."),
        ({"overlap": 1.0, "prompt_len": 32_768.0}, "one engine."),
    ):
        assert figure.caption(**settings).endswith(who)


@cache
def made() -> Bench:
    return module.bench(example())


def answer(**changes: Any) -> str:
    start = {name: getattr(knob, "default", "") for name, knob in made().knobs.items()}
    return made().answer(**start | changes)


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


def test_the_picture_of_distributions_is_drawn_the_same_twice() -> None:
    reports = example()
    one, other = distributions(reports), distributions(reports)
    assert one.svg == other.svg
    assert all(name in one.sentence for name in (WHOLE, CHUNKS, POOLS))


def test_every_deployment_answers_every_request() -> None:
    cost = IterationCost(row_s=1e-5, kv_bytes_per_token=1, hbm_bytes=1e6)
    requests = module.requests(
        prompt=50, output=5, rate=100, reader="azure", file="", most=30
    )
    pools: dict[str, Pool | Disaggregated] = deployments(
        cost=cost, n_prefill=1, n_decode=1, link="pcie-gen5"
    )
    for report in side_by_side(requests, pools).values():
        assert report.num_requests == 30
        assert report.output_len.sum() == sum(each.output_len for each in requests)
