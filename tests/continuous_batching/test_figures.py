"""The live figures say what the engine does, and every control moves something."""

from __future__ import annotations

import re
from csv import DictReader
from io import StringIO
from itertools import pairwise

import pytest

from llmserve_lab import catalog
from llmserve_lab.continuous_batching import outcomes
from llmserve_lab.continuous_batching.article_machine import (
    DECODES,
    FROM_S,
    UNTIL_S,
    as_printed,
    cost,
)
from llmserve_lab.continuous_batching.chunks import prefill
from llmserve_lab.continuous_batching.page import figures, stills
from llmserve_lab.continuous_batching.page.controls import STOPS
from llmserve_lab.continuous_batching.serving import (
    LONG,
    around_the_stall,
    beats,
    convoy,
    crowd,
    serve,
    stall,
    stalled,
    within,
)
from llmserve_lab.continuous_batching.toy import model, prompt
from llmserve_lab.engine import (
    Continuous,
    IterationCost,
    IterationLoad,
    Pool,
    Static,
    simulate,
)


def test_an_iteration_takes_what_the_engine_says() -> None:
    share = catalog.efficiency("article-06")
    for name, key in (("Llama-2-7B", "llama-2-7b"), ("Llama-3-8B", "llama-3-8b")):
        known = figures.iteration_against_chunk().values(model=name, chunk=512.0)
        shape, device = catalog.model(key), catalog.accelerator("h100-sxm")
        engine = IterationCost.of(shape, device, efficiency=share)
        load = IterationLoad.of(chunk=512, context=65_536)
        for _ in range(8):
            load = load.plus(IterationLoad.of(chunk=1, context=1024))
        assert known["iteration_s"] == pytest.approx(engine.seconds(load), rel=1e-9)


def test_the_mask_states_what_a_run_counts() -> None:
    done = prefill(model(), prompt(24), chunk=8)
    known = figures.mask().values(chunk=8.0, context=16.0)
    assert known["attn_pairs"] == done.masks[2].sum()
    assert known["block_pairs"] == done.masks[2].size


def test_the_price_is_the_sum_over_the_chunks() -> None:
    known = figures.price().values()
    loads = [IterationLoad.of(chunk=2048, context=at) for at in range(0, 65_536, 2048)]
    computed = sum(cost().compute_s(load) for load in loads)
    read = sum(cost().memory_s(load) for load in loads)
    assert known["prompt_compute_s"] == pytest.approx(computed, rel=1e-9)
    both = known["prompt_weights_s"] + known["prompt_kv_s"]
    assert both == pytest.approx(read, rel=1e-9)


@pytest.mark.parametrize("chunk", STOPS)
def test_the_timeline_states_what_the_engine_ran(chunk: int) -> None:
    known, run = figures.timeline().values(chunk=float(chunk)), stalled(chunk)
    shown = [beat for beat in around_the_stall(run) if beat.rows]
    assert known["num_chunks"] == len(shown)
    assert known["iteration_s"] == pytest.approx(outcomes.longest_gap_s(run), rel=0.01)
    assert sum(beat.rows for beat in shown) == LONG
    assert run.preemptions.sum() == 0


def test_the_timeline_draws_every_beat_of_every_run() -> None:
    text = figures.timeline().spec["layer"][0]["data"]["values"]
    rows = [
        {k: float(v) for k, v in row.items() if v} for row in DictReader(StringIO(text))
    ]
    for chunk in STOPS:
        drawn = [row for row in rows if row["c"] == chunk]
        assert len(drawn) == len(around_the_stall(stalled(chunk)))
        assert max(row["g"] for row in drawn) == pytest.approx(
            1e3 * outcomes.longest_gap_s(stalled(chunk)), rel=0.01
        )


def test_a_bar_is_as_wide_as_its_iteration_lasts() -> None:
    """They touch: together they are as wide as the time that is shown."""
    html = figures.timeline()._repr_mimebundle_()["text/html"]
    bars = re.findall(r'<path d="M[\d.,]*h([\d.]+)v[^"]*" fill="var\(--fig-', html)
    widths = [float(width) for width in bars]
    assert len(widths) == len(around_the_stall(stalled(LONG)))
    share = outcomes.longest_gap_s(stalled(LONG)) / (UNTIL_S - FROM_S)
    assert max(widths) / sum(widths) == pytest.approx(share, rel=0.01)


def test_beats_cover_the_whole_run() -> None:
    found = beats(serve(convoy(), Continuous(2)))
    assert all(a.end_s == b.start_s for a, b in pairwise(found))
    silent = simulate(convoy(), Pool(cost(), Continuous(2)))
    with pytest.raises(ValueError, match="report must come from a run with log=True"):
        beats(silent)
    with pytest.raises(ValueError, match="report must come from a run with log=True"):
        outcomes.idle_share(silent)


def test_a_frozen_batch_idles_as_its_answers_say() -> None:
    run = serve(convoy()[:2], Static(2))
    decodes = run.output_len - 1  # the first token comes with the prefill
    idle = 1 - decodes.mean() / decodes.max()
    assert outcomes.idle_share(run) == pytest.approx(idle, rel=1e-9)
    assert outcomes.idle_share(serve(convoy(), Continuous(2))) == 0


@pytest.mark.parametrize("batch", [1, 2, 8, 32])
def test_the_more_share_a_frozen_batch_the_more_of_it_idles(batch: int) -> None:
    """The longest of n exponential answers lasts 1 + 1/2 + … + 1/n means."""
    longest = sum(1 / place for place in range(1, batch + 1))
    idle = outcomes.idle_of_geometric(batch)
    assert idle == pytest.approx(1 - 1 / longest, abs=0.03)


def test_under_load_the_frozen_batch_makes_all_wait() -> None:
    few = crowd(num_requests=40)
    runs = [serve(few, policy) for policy in (Static(8), Continuous(8))]
    frozen, free = (run.percentile("ttft", 50) for run in runs)
    assert frozen > 50 * free
    assert {len(run.id) for run in runs} == {len(few)}


def test_the_tables_have_a_row_for_each_run() -> None:
    assert [row[1] for row in outcomes.trade(8192, LONG).rows] == [12, 1]
    assert len(outcomes.convoys().rows) == 6
    assert len(outcomes.queue_behind().rows) == 3


def test_still_pictures_say_what_they_show() -> None:
    assert "4 chunks" in repr(stills.masks(prefill(model(), prompt(20), chunk=6)))
    chosen = stills.chosen(within(0.05), 0.05)
    rows = [beat.rows for beat in around_the_stall(within(0.05)) if beat.rows]
    assert f"takes {len(rows)} iterations" in chosen.sentence
    assert str(rows[0]) in chosen.sentence


def test_the_article_and_the_engine_describe_one_machine() -> None:
    engine = cost()
    known = {name: float(value) for name, value in as_printed().items()}
    rate = known["peak_flops"] * known["eff_compute"]
    assert engine.pair_s == pytest.approx(known["attn_flops_per_pair"] / rate)
    assert known["params_total"] > 1.03 * engine.weight_bytes / known["bytes_weight"]
    assert len(stall()) == DECODES + 1
