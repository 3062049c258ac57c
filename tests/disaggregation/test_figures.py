"""The figures and the bench say what the engine and the closed forms say."""

import math
import re
from contextlib import suppress
from functools import cache, partial
from html import unescape
from itertools import product
from pathlib import Path

import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.disaggregation import goodput
from llmserve_lab.disaggregation.hop import WAYS, played
from llmserve_lab.disaggregation.page import charts, figures, router
from llmserve_lab.disaggregation.page import playground as module
from llmserve_lab.disaggregation.page.controls import BY_BANDWIDTH
from llmserve_lab.disaggregation.routing import ROUTERS, routed
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
from llmserve_lab.formula.text import si
from llmserve_lab.page.live.controls import Choice
from llmserve_lab.page.widget import Bench
from llmserve_lab.running_example import share
from llmserve_lab.workloads import write_made_up
from tests.benches import answered
from tests.page import drawn


def test_a_link_hides_the_cache_or_falls_behind() -> None:
    """What is left over is one layer, or much more: sent and made counted here."""
    figure = figures.links()
    for model, hides in (("Llama-3.1-8B", True), ("Llama-2-7B", False)):
        at = figure.values(model=model, link="InfiniBand HDR", prompt_len=1000.0)
        shape = next(m for m in MODELS.values() if m.name == model)
        made = 1000 * shape.kv_bytes_per_token(2)
        sent_s = made / (25e9 * float(share().link))
        assert at["transfer_s"] == pytest.approx(sent_s)
        assert (at["made_prefill_s"] > sent_s) == hides
        one_layer = at["exposed_s"] == pytest.approx(sent_s / shape.n_layers)
        assert one_layer == hides


def test_the_better_way_turns_with_the_promise() -> None:
    figure = figures.promises()
    for promise_s, split in ((0.01, True), (0.05, False)):
        at = figure.values(tpot_target=promise_s)
        assert (at["two_best_pools_rate"] > at["one_shared_rate"]) == split


def test_no_promise_is_refused_and_no_batch_exceeds_memory() -> None:
    figure = figures.promises()
    ends = {slider.name: slider.stops for slider in figure.sliders}
    for promise_s in (ends["tpot_target"][0], ends["tpot_target"][-1]):
        for prompt in ends["prompt_len"]:
            at = figure.values(tpot_target=promise_s, prompt_len=prompt)
            for name in ("one_shared_batch", "two_decode_batch"):
                assert 0 <= at[name] <= at["batch_fits"]


def test_under_a_strict_promise_the_best_split_carries_more_at_every_stop() -> None:
    figure = figures.promises()
    stops = {slider.name: slider.stops for slider in figure.sliders}
    for prompt in stops["prompt_len"]:
        for answer in stops["new_tokens"]:
            at = figure.values(tpot_target=0.01, prompt_len=prompt, new_tokens=answer)
            assert at["two_best_pools_rate"] > 1.1 * at["one_shared_rate"]


def test_two_pools_serve_most_under_the_strictest_promise_in_every_state() -> None:
    figure = figures.goodput()
    choices = {c.name: c.options for c in figure.controls if isinstance(c, Choice)}
    limits = choices.pop("limit")
    for options in product(*choices.values()):
        chosen = dict(zip(choices, options, strict=True))
        leads = []
        for limit in (limits[0], limits[-1]):
            at = figure.values(limit=limit, **chosen)
            one = max(at["large_goodput"], at["small_goodput"])
            leads.append(at["pools_goodput"] / one)
        assert leads[0] > 1.1 and leads[1] < 1.01


def test_only_its_own_choice_moves_a_line() -> None:
    figure = figures.goodput()
    opened, moved = figure.values(), figure.values(extra="6.5 ms, one by one")
    assert moved["small_goodput"] < 0.7 * opened["small_goodput"]
    for name in ("large_goodput", "pools_goodput"):
        assert moved[name] == opened[name]


def test_the_routing_opens_where_the_choice_is_far_from_the_best() -> None:
    first = next(iter(ROUTERS.values()))
    opened = routed(first, num_requests=router.BEFORE + 8)[router.BEFORE + router.WRONG]
    best_s = min(map(max, opened.queues_s, opened.transfers_s))
    assert opened.delay_s > 4 * best_s
    assert opened.place in ("D3", "D4")


def test_the_goodput_shown_is_that_of_the_lines() -> None:
    figure = figures.goodput()
    at = figure.values(load=goodput.LOADS[1].name, limit="10 ms")
    found = goodput.best(
        goodput.LOADS[1],
        goodput.POOLS,
        kind="mean gap",
        limit_s=0.01,
        hand="wire and 168 ms",
    )
    assert at["pools_goodput"] == found.per_s
    pairs = zip(found.rates, found.shares, strict=True)
    below = [s for r, s in pairs if r < found.per_s]
    assert min(below) >= goodput.ENOUGH


def test_the_counters_of_the_pools_are_those_of_the_log() -> None:
    step = figures.pools_by_layer()
    for way in WAYS:
        run = played(way)
        for frame in step.logs[way.name].frames:
            assert frame.at is not None
            arrived = sum(x.sent_s <= frame.at / 1e3 + 1e-6 for x in run.layers[0])
            assert str(frame.counters[1]) == f"{arrived} of 32"


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


def test_the_routes_shown_rank_the_rules_as_four_hundred_do() -> None:
    """Soonest is best, most cached next; the first choice of nearest is a bad one."""
    step = router.routes_by_rule()
    shown = {
        name: sum(
            each.delay_s for each in routed(rule, num_requests=router.BEFORE + 8)[-8:]
        )
        for name, rule in ROUTERS.items()
    }
    assert sorted(shown, key=shown.__getitem__)[:2] == ["soonest", "most cached"]
    assert list(step.logs) == list(ROUTERS)
    begun = routed(ROUTERS["nearest"], num_requests=router.BEFORE + 1)[-1]
    costs = map(max, begun.queues_s, begun.transfers_s)
    assert begun.delay_s > 1.2 * min(costs)


def test_a_bar_ends_with_the_later_of_queue_and_sending() -> None:
    """Both begin at once: what is sent arrives while the others are served."""
    step = router.routes_by_rule()
    for name, rule in ROUTERS.items():
        sent = routed(rule, num_requests=router.BEFORE + 8)[-8:]
        for number, each in enumerate(sent):
            bars = [b for b in step.logs[name].tables["bars"] if b["since"] == number]
            for place, lane in enumerate(router.LANES.values()):
                waits, travels = each.queues_s[place], each.transfers_s[place]
                of_lane = [bar for bar in bars if bar["y"] == lane]
                end = max((bar["x2"] for bar in of_lane), default=0.0)
                assert end == pytest.approx(1e3 * max(waits, travels), abs=2e-3)
                grey = [bar["x2"] for bar in of_lane if bar["ink"] == "idle"]
                assert grey == ([pytest.approx(1e3 * waits, abs=2e-3)] if waits else [])


def test_the_last_sentence_tells_the_two_first_tokens_apart() -> None:
    """Above as the frame said where B's prompt was read, and below later than that."""
    for log in figures.pools_by_layer().logs.values():
        told = " ".join(frame.sentence for frame in log.frames)
        (had,) = re.findall(r"GPU 2 had it at ([\d.]+) (m?s)", told)
        time = r"at ([\d.]+) (m?s)"
        first = re.search(
            rf"B's first token comes {time} above and {time} below",
            log.frames[-1].sentence,
        )
        assert first is not None and first.groups()[:2] == had
        above, below = (
            float(number) * {"s": 1e3, "ms": 1.0}[unit]
            for number, unit in (first.groups()[:2], first.groups()[2:])
        )
        assert above < below


@pytest.mark.parametrize("model", ["Llama-3.1-8B", "Llama-2-7B"])
def test_a_link_that_hides_the_cache_is_no_slower_than_the_cache_is_made(
    model: str,
) -> None:
    """Told by Vega's pixels: its ink as in the legend, right of the line or left."""
    figure, found = figures.links(), set()
    (prompt,) = (each for each in figure.sliders if each.name == "prompt_len")
    for length in (prompt.stops[0], 1000.0, prompt.stops[-1]):
        at: dict[str, float | str] = {"model": model, "prompt_len": length}
        (line,) = drawn.marks(figure, "rule", **at)
        legend = drawn.legend(figure, **at)
        dots = drawn.marks(figure, "symbol", **at)
        assert len(dots) == len(BY_BANDWIDTH) + 1
        for dot in dots:
            word = legend[dot["ink"]]
            assert (word == "hides it") == (dot["x"] >= line["x"])
            found.add(word)
    assert found == {"hides it", "falls behind"}


def test_the_mean_wait_is_that_of_as_many_requests_as_its_counter_says() -> None:
    figure = router.routes_by_rule()
    count = int(re.findall(r"mean wait of (\d+)", figure.counters[2].label)[0])
    for name, log in figure.logs.items():
        waits = [each.delay_s for each in routed(ROUTERS[name], num_requests=count)]
        mean = si(sum(waits) / count, "s")
        assert {frame.counters[2] for frame in log.frames} == {mean}


def test_a_link_stands_at_the_bandwidth_with_which_the_readout_sends() -> None:
    """The axis is scaled by the line, whose number is known."""
    figure, compared = figures.links(), 0
    (rule,) = {m["x"] for m in drawn.marks(figure, "rule")}
    low = min(charts.BANDWIDTH.domain or ())
    made = figure.values()["made_kv_made_per_s"] / 1e9
    points = sorted(drawn.marks(figure, "symbol"), key=lambda each: float(each["y"]))
    for link, point in zip(BY_BANDWIDTH, points, strict=False):
        with suppress(ValueError):  # no link of the GPU with which the figure opens
            at = figure.values(link=link.name)
            reached = at["handoff_bytes"] / at["transfer_s"] / 1e9
            place = rule * math.log(reached / low) / math.log(made / low)
            assert point["x"] == pytest.approx(place, abs=0.1), link.name
            compared += 1
    assert compared > 3
