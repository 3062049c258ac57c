"""Each line, dot, rule and readout of the live charts stands for what it is called."""

from __future__ import annotations

from typing import Any

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog import MODELS
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation import goodput
from llmserve_lab.disaggregation import worked_example as worked
from llmserve_lab.engine import IterationLoad
from llmserve_lab.page.live import registry
from llmserve_lab.running_example import cost, share
from tests.disaggregation.test_each_column import served, split
from tests.page.cells import says
from tests.page.plot import Plot

FIGURES = registry.figures()
LINK = float(share().link)


@pytest.mark.parametrize(
    ("key", "link", "prompt"),
    [
        ("llama-3.1-8b", "infiniband-ndr", 1000),
        ("llama-2-7b", "infiniband-hdr", 4000),
    ],
)
def test_each_link_stands_where_it_sends_and_the_rule_where_cache_is_made(
    key: str, link: str, prompt: int
) -> None:
    """Left of the rule a link falls behind; eight GPUs share a port of NDR."""
    figure, model = FIGURES["disaggregation.links"](), MODELS[key]
    wire = catalog.link(link)
    changes = {"model": model.name, "link": wire.name, "prompt_len": float(prompt)}
    plot = Plot(figure, **changes)
    machine = running_example.served_by(model, running_example.device())
    read_s = machine.seconds(IterationLoad.of(chunk=prompt))
    nbytes = prompt * model.kv_bytes_per_token(2)
    reached = {
        each.name: float(each.bandwidth) * LINK for each in catalog.LINKS.values()
    }
    reached["8 GPUs on an NDR port"] = reached["InfiniBand NDR"] / 8
    names = [text for text, _ in plot.y.labels]
    dots = plot.points()
    assert len(dots) == len(names) == 8
    for called, x, y in dots:
        rate = reached[plot.y.near(y)]
        assert x == pytest.approx(rate / 1e9, rel=0.01)
        assert called == ("hides it" if rate >= nbytes / read_s else "falls behind")
    (made,) = plot.rules().values()
    assert {*plot.rules()} == {"prefill makes cache"}
    assert made == pytest.approx(nbytes / read_s / 1e9, rel=0.01)
    sent_s = nbytes / reached[wire.name]
    hides = sent_s <= read_s
    left = sent_s / model.n_layers
    told = {
        "Cache to hand over": nbytes,
        "Cache that a prefill makes": nbytes / read_s,
        "Time to send the cache": sent_s,
        "Part of the sending that outlasts the prefill": (
            left if hides else sent_s - read_s * (1 - 1 / model.n_layers)
        ),
    }
    known = figure.values(**changes)
    labels = {each.label: known[each.name] for each in figure.readouts}
    assert labels == pytest.approx(told, rel=2e-3)
    said = figure.caption(**changes)
    for words, want in (
        ("tokens: ", nbytes),
        ("made at ", nbytes / read_s),
        ("sends it in ", sent_s),
        ("layer by layer, ", told["Part of the sending that outlasts the prefill"]),
    ):
        assert says(said.partition(words)[2], want), words


def test_each_line_of_the_promises_is_the_way_that_its_legend_says() -> None:
    """And dots where one engine carries as much as a split, called by the promise."""
    figure = FIGURES["disaggregation.promises"]()
    plot = Plot(figure)

    def rates(promise_s: float) -> dict[str, float]:
        return {
            "one engine": worked.shared_rate(promise_s, 1),
            "two pools, best split": worked.usual(f.BEST_POOLS_RATE, promise_s),
            "two pools, 2P:2D": split(2, promise_s),
        }

    lines = plot.lines()
    assert {*lines} == {*rates(0.02)}
    for name, points in lines.items():
        for ms, rate in points[2::24]:
            assert rate == pytest.approx(rates(ms / 1e3)[name], rel=0.01, abs=0.3), name
    assert plot.rules() == {"promised": pytest.approx(15, abs=0.1)}
    dots = sorted((x, plot.y.at(y)) for _, x, y in plot.points())
    for (ms, rate), pools in zip(
        dots, ("two pools, 2P:2D", "two pools, best split"), strict=True
    ):
        at = rates(ms / 1e3)
        assert at["one engine"] == pytest.approx(at[pools], rel=0.01)
        assert rate == pytest.approx(at[pools], rel=0.01)
        assert f"even at {ms:.0f} ms" in [i.get("text") for *_, i in plot.of("text")]


@pytest.mark.parametrize("promise_s", [0.01, 0.015, 0.04])
def test_each_readout_of_the_promises(promise_s: float) -> None:
    """A batch is what the engine still keeps the promise with."""
    figure = FIGURES["disaggregation.promises"]()
    known = figure.values(tpot_target=promise_s)
    labels = {each.label: known[each.name] for each in figure.readouts}
    rate = worked.shared_rate(promise_s, 1)
    assert labels["Rate of one engine on each GPU"] == pytest.approx(rate, rel=1e-3)
    best = worked.usual(f.BEST_POOLS_RATE, promise_s)
    assert labels["Rate of two pools, best split"] == pytest.approx(best)
    alone = labels["Batch of a decode GPU"]
    one = IterationLoad.of(chunk=1, context=1100)
    if alone < known["batch_fits"] - 1:
        assert cost().seconds(one.times(int(alone))) <= promise_s * 1.001
        assert cost().seconds(one.times(int(alone) + 1)) > promise_s * 0.999
    shared = labels["Batch of one engine"]
    if shared < known["batch_fits"] - 1:  # Little's law: the 199 steps of each answer
        assert shared == pytest.approx(rate / 4 * 199 * promise_s, rel=0.01)
    else:
        assert promise_s == 0.04
    assert len(labels) == 4 and labels["Batch of one engine"] <= alone
    said = figure.caption(tpot_target=promise_s)
    assert says(said.partition("promised for a token: ")[2], rate)
    assert says(said.partition("on each GPU, ")[2], best)


def test_each_line_and_readout_of_the_goodput_is_its_way() -> None:
    """By the number of tokens in an iteration that each is called after."""
    figure = FIGURES["disaggregation.goodput"]()
    extras = figure.words()["extra"]
    names = {"large budget, 8,192": "8,192", "small budget, 512": "512, {extra:g}"}
    cases = ((0, 0, 1, 0.015), (1, 3, 0, 0.05))
    for load_at, extra, hand, limit_s in cases:
        load = goodput.LOADS[load_at]
        limit = f"{1e3 * limit_s:g} ms"
        changes = {"load": load.name, "extra": extras[extra], "limit": limit}
        changes |= {"hand": goodput.HANDS[hand]}

        def rate(
            way: str, s: float, load: Any = load, e: int = extra, h: int = hand
        ) -> float:
            hand_over = goodput.HANDS[h]
            if way == "two pools":
                splits = (f"{x}P:{4 - x}D" for x in (1, 2, 3))
                return max(served(load, name, hand_over, s) for name in splits)
            name = names[way].format(extra=goodput.EXTRAS[e])
            return served(load, name, goodput.HANDS[0], s)

        known = figure.values(**changes)
        for each in figure.readouts:
            way = each.label.removeprefix("Goodput, ")
            assert known[each.name] == pytest.approx(rate(way, limit_s)), way
        said = figure.caption(**changes)
        for words, way in (
            ("Goodput: ", "large budget, 8,192"),
            ("tokens an iteration; ", "small budget, 512"),
            (f"(extra launches {extras[extra]}); ", "two pools"),
        ):
            assert says(said.partition(words)[2], rate(way, limit_s)), words
        plot = Plot(figure, **changes)
        lines = plot.lines()
        assert {*lines} == {*names, "two pools"}
        for way, points in lines.items():
            assert [round(ms, 2) for ms, _ in points] == [10, 15, 20, 30, 50]
            for ms, per_s in points:
                assert per_s == pytest.approx(rate(way, round(ms, 2) / 1e3), abs=0.2), (
                    way
                )
        assert plot.rules() == {"promised": pytest.approx(1e3 * limit_s, abs=0.1)}


def test_the_extra_launches_are_shares_of_those_of_a_prompt() -> None:
    figure = FIGURES["disaggregation.goodput"]()
    options = figure.words()["extra"]
    paid = [1e3 * each * cost().prompt_s for each in goodput.EXTRAS]
    assert options[0] == "none, replayed" and options[-1].endswith("one by one")
    for option, ms in zip(options[1:], paid[1:], strict=True):
        assert says(option, ms / 1e3)
    assert len(options) == 4
