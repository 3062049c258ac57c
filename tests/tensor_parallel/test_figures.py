"""The live figures: complete sentences, controls that matter, numbers that ran."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from llmserve_lab.book.controls import Choice, Slider
from llmserve_lab.book.live import LiveFigure
from llmserve_lab.catalog import wire
from llmserve_lab.tensor_parallel import article, charts, figures

MAKERS = [figures.block, figures.tp_time, figures.speedup]
Maker = Callable[[], LiveFigure]
every_figure = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)


@cache
def built(make: Maker) -> LiveFigure:
    return make()


def settings(control: Any) -> list[Any]:
    every = control.stops if isinstance(control, Slider) else control.options
    return [setting for setting in every if setting != control.default]


@every_figure
def test_the_sentence_is_complete_in_every_state(make: Maker) -> None:
    figure = built(make)
    for control in figure.controls:
        for setting in settings(control):
            caption = figure.caption(**{control.name: setting})
            assert "{" not in caption and "nan" not in caption
            assert caption.endswith(".")
            if isinstance(control, Choice) and f"{{{control.name}}}" in figure.sentence:
                assert setting in caption


@every_figure
def test_every_control_changes_a_number_or_the_drawing(make: Maker) -> None:
    figure = built(make)
    start = figure.values()
    drawn = json.dumps({k: v for k, v in figure.spec.items() if k != "params"})
    for control in figure.controls:
        moved = [figure.values(**{control.name: s}) for s in settings(control)]
        numbers = any(
            m[r.name] != start[r.name] for m in moved for r in figure.readouts
        )
        assert numbers or re.search(rf"\b{control.name}\b", drawn), control.name


@every_figure
def test_two_calls_print_the_same_bytes(make: Maker) -> None:
    pages = [make()._repr_mimebundle_()["text/html"] for _ in range(2)]
    assert pages[0] == pages[1]
    assert built(make).title in pages[0]


def test_the_picture_of_the_block_holds_the_steps_that_ran() -> None:
    rows = charts._rows()
    for which, name in enumerate(("gathered", "paired")):
        for degree, tp in enumerate(charts.BLOCK_DEGREES):
            drawn = [r for r in rows if (r["s"], r["t"]) == (which, degree)]
            done = article.execute(name, tp, article.batch()).steps[-1]
            assert [r["w"] for r in drawn] == [step.given[1] for step in done]
            stars = sum(r["n"].startswith("★") for r in drawn)
            assert stars == {"gathered": 4, "paired": 2}[name]


def test_the_bytes_under_it_are_those_that_left_a_rank() -> None:
    known = figures.block().values(tp="4 ranks")
    for name in ("gathered", "paired"):
        sent = article.execute(name, 4, article.batch()).ledger.sent_bytes(rank=0)
        assert known[f"{name}_bytes"] == sent / 4  # 16 bits there, float64 here


def test_work_and_links_add_up() -> None:
    known = figures.tp_time().values(n_ranks=4.0)
    assert known["tp_s"] == pytest.approx(known["rank_s"] + known["link_s"])
    assert known["link_share"] == pytest.approx(known["link_s"] / known["tp_s"])


def test_a_link_of_unknown_latency_is_refused() -> None:
    from llmserve_lab.catalog import LINKS

    with pytest.raises(ValueError, match="link must have a latency in the catalog"):
        wire(LINKS["pcie-gen5"])
