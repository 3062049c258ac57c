"""What a reader can work out by hand from the numbers that the page prints."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from llmserve_lab.kv_memory import machine, serving
from llmserve_lab.kv_memory.page import kinds
from llmserve_lab.kv_memory.waste import LIMIT, SERVICES, lives, wasted
from llmserve_lab.page.palette import GREEN
from llmserve_lab.running_example import model


def test_the_used_share_of_blocks_is_what_its_printed_means_give() -> None:
    """A reader divides 1,357 by 1,357 + 7.5 and finds the digits of the page."""
    found = wasted(SERVICES[0])
    by_hand = round(found.used) / (round(found.used) + 7.5)
    assert f"{by_hand:.0%}" == f"{found.share(found.paged[16]):.0%}" == "99%"


def test_what_a_random_moment_meets_adds_up_from_its_printed_parts() -> None:
    """Prompt, and half of an answer met in proportion to its length."""
    prompts, answers = np.array(lives(SERVICES[0])).T
    met = (answers**2).sum() / answers.sum()
    held = round(prompts.mean()) + round(met) / 2
    assert held == pytest.approx(wasted(SERVICES[0]).used, rel=5e-3)
    assert met > 1.5 * answers.mean()


def test_twelve_times_the_requests_write_three_times_as_fast() -> None:
    """Cache of each request is read for itself, and the weights are read once."""
    held = wasted(SERVICES[0]).used
    few, many = machine.served(LIMIT), machine.slots_that_fit(held / 0.99449)
    cache = [n * held * model().kv_bytes_per_token() for n in (few, many)]
    reads = [2 * model().params_read + each for each in cache]
    times = [serving.step_s(n, held) for n in (few, many)]
    assert 11 < cache[1] / cache[0] < 13
    assert times[1] / times[0] == pytest.approx(reads[1] / reads[0], rel=0.1)


@pytest.mark.long
def test_a_longer_run_floods_the_replica_of_the_popular_assistant_more() -> None:
    short = serving.hot_tokens("affinity by assistant")
    longer = serving.hot_tokens("affinity by assistant", many=2 * serving.NUM_REQUESTS)
    assert longer > 1.2 * short


@pytest.mark.long
def test_least_loaded_routing_computes_twice_as_many_prompt_tokens() -> None:
    """It has to: each of its replicas would need room for all of the prompts."""
    wide = machine.blocks_with(serving.WIDE_BATCH) * machine.BLOCK
    assert wide // serving.SYSTEM < serving.ASSISTANTS
    missed = {name: 1 - serving.hot_hits(name) for name in serving.ROUTINGS}
    assert missed["least loaded"] > 2 * missed["prefix-aware"]
    spent = {name: serving.hot_tokens(name) for name in serving.ROUTINGS}
    assert spent["least loaded"] > 2 * spent["prefix-aware"]


def test_of_a_layer_of_each_kind_is_kept_what_its_shape_says() -> None:
    """By counting tokens one by one, a window forgetting its oldest."""
    found = kinds.kinds()
    per_token = {"heads": 2 * 8 * 128, "latent": 512 + 64, "window": 2 * 16 * 128}
    for name, numbers in per_token.items():
        held: deque[int] = deque(maxlen=1_024 if name == "window" else None)
        held.extend(range(32_768))
        assert found[name].mib == len(held) * numbers * 2 / 2**20
        assert found[name].token_bytes == 2 * numbers
    state = 32 * 128 * 128 + 3 * 8_192
    assert found["state"].mib == state * 2 / 2**20
    sizes = [each.mib for each in found.values()]
    assert sizes == sorted(sizes, reverse=True)


def test_the_coloured_areas_of_the_kinds_are_in_proportion_to_their_mib() -> None:
    """Measured in what is drawn: a layer of heads has 128 MiB, one of windows 8."""
    from matplotlib import colors, pyplot

    found = {}
    for name, kind in kinds.kinds().items():
        if name == "state":
            continue
        figure, axes = pyplot.subplots()
        kinds._columns(axes, kind)
        green = colors.to_rgba(GREEN.light)
        drawn: list[Any] = list(axes.patches)
        bars = [bar for bar in drawn if bar.get_facecolor() == green]
        found[name] = sum(bar.get_width() * bar.get_height() for bar in bars)
        pyplot.close(figure)
    assert found["heads"] / found["window"] == pytest.approx(128 / 8)
    assert found["heads"] / found["latent"] == pytest.approx(128 / 36)
    assert found["heads"] == pytest.approx(128 * kinds.AREA)
