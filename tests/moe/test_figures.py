"""The figures and the bench state what rows and ranks do."""

from __future__ import annotations

import re
from functools import cache, partial
from html import unescape
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.moe import exchange_time
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.hot_rank import RANKS, WIDTH, exchanged
from llmserve_lab.moe.models import DEFAULT, inventory, moe_of, per_layer, sizes_of
from llmserve_lab.moe.page import figures, overlap, route_chart, stills
from llmserve_lab.moe.page.playground import bench
from llmserve_lab.moe.placement import balance
from llmserve_lab.moe.routing_sampler import draw, mean_distinct
from llmserve_lab.page.palette import INK, MEANINGS
from llmserve_lab.page.widget import Bench
from tests.benches import answered
from tests.page import drawn, seen

SLIDERS = {each.name: each for each in figures.group().sliders}
HEIGHT = 200  # pixels of the chart of a layer


def test_the_ranks_of_a_row_are_those_of_the_experts_that_are_drawn() -> None:
    figure = figures.route()
    for rule in route_chart.rules():
        for k in (1, 8, 16):
            drawn = [
                each["e"] // route_chart.PER_RANK
                for each in route_chart.rows()
                if (each["u"], each["t"]) == (list(route_chart.rules()).index(rule), 2)
                and each["j"] < k
            ]
            known = figure.values(row="row 3", rule=rule, top_k=float(k))
            assert known["row_copies"] == len(set(drawn)) and len(drawn) == k
            assert known["expert_copies_bytes"] == k * 2 * 7168


@pytest.mark.parametrize(("n_experts", "top_k"), [(256, 8), (64, 6), (16, 16)])
def test_the_touched_are_those_of_a_simulated_crowd(n_experts: int, top_k: int) -> None:
    figure = figures.touched()
    for n in (1.0, 8.0, 32.0):
        known = figure.values(n_rows=n, n_experts=float(n_experts), top_k=float(top_k))
        seen = mean_distinct(np.ones(n_experts), n_rows=int(n), top_k=top_k)
        assert known["touched_experts"] == pytest.approx(seen, rel=0.05)
    start = figure.values(n_rows=1.0)
    assert start["read_ratio"] == pytest.approx(1)


def test_what_is_sent_to_a_hot_gpu_adds_up_to_its_load() -> None:
    known = {"hot_share": 0.3, "n_rows": 512.0, "top_k": 8.0, "ep": 8.0}
    size, row = known | {"d_model": 7168.0, "bytes_act": 2.0}, 2 * 7168
    hot, cold = (float(each.at(size)) for each in (f.HOT_BYTES, f.COLD_BYTES))
    assert hot + 7 * cold == pytest.approx(512 / 8 * 8 * row)
    loads = [8 * hot / row] + [8 * cold / row] * 7
    assert loads[0] == pytest.approx(float(f.BUSIEST_ROWS.at(known)))
    assert balance(loads) == pytest.approx(float(f.BALANCEDNESS.at(known)))


def test_executed_traffic_is_that_of_the_closed_forms() -> None:
    """Every pair of ranks, and what the ledger says left them."""
    size = {"hot_share": 0.3, "n_rows": 512, "top_k": 4}
    matrix, left = exchanged(**size)  # type: ignore[arg-type]
    known = size | {"ep": RANKS, "d_model": WIDTH, "bytes_act": 8}
    assert matrix[:, 0].mean() == pytest.approx(f.HOT_BYTES(**known), rel=0.05)
    assert matrix[:, 1:].mean() == pytest.approx(f.COLD_BYTES(**known), rel=0.05)
    assert matrix.sum() - np.trace(matrix) == left
    assert matrix.sum() == 512 * 4 * WIDTH * 8


def test_k_ranks_with_k_experts_gain_no_bytes_by_copies() -> None:
    """A copy for each expert costs k/g of the all-reduce of all rows."""
    for ranks in (8.0, 64.0):
        known = DEFAULT | {"n_rows": 1024.0, "ep": ranks}
        copies = float(f.EP_BYTES.at(known, row_copies=8.0))
        assert copies == pytest.approx(8 / ranks * float(f.FFN_TP_BYTES.at(known)))
    composed = known | {"tp": 8.0}
    parts = (f.SP_BYTES, f.EP_BYTES)
    assert float(f.COMPOSED_BYTES.at(composed)) == pytest.approx(
        sum(float(each.at(composed)) for each in parts)
    )


def test_the_inventory_adds_up_to_what_is_published() -> None:
    models = MODELS["deepseek-v3"], MODELS["llama-2-7b"]
    assert [round(each.params_total / 1e9, 2) for each in models] == [671.03, 6.74]
    assert len(inventory(*models).rows) == len(models)
    stored, touched = per_layer(MODELS["llama-2-7b"])
    assert stored == touched == 3 * 4096 * 11008
    with pytest.raises(TypeError, match="model must have experts, got Llama-2-7B"):
        sizes_of(MODELS["llama-2-7b"])
    assert moe_of(MODELS["kimi-k2"]).n_experts == 384


@cache
def made() -> Bench:
    return bench()


answer = partial(answered, made)


def test_the_picture_on_the_page_is_the_state_at_the_start() -> None:
    assert made().picture.html() in answer()
    html = answer(n_experts=64, num_ranks=8, extra=8, steepness=0, n_rows=2000)
    assert "2000 tokens, 8 of 64 experts each, on 8 GPUs, Zipf 0" in html


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_ranks": 7}, "must fill 7 ranks evenly, got 256 and 64"),
        ({"n_experts": 4}, "popularity must be positive and of at least 8 experts"),
    ],
)
def test_a_wrong_setting_is_answered_in_a_sentence(
    changes: dict[str, Any], message: str
) -> None:
    html = unescape(answer(**changes))
    assert 'class="bench-error"' in html and message in html


@pytest.mark.parametrize(
    ("num_ranks", "extra", "missing"),
    [
        (72, 32, ["in order", "heaviest first"]),
        (144, 32, ["in order", "heaviest first"]),
        (32, 5, ["5 replicas more"]),
    ],
)
def test_a_published_size_is_housed_in_the_ways_that_fill_it(
    num_ranks: int, extra: int, missing: list[str]
) -> None:
    html = unescape(answer(num_ranks=num_ranks, extra=extra))
    assert "bench-error" not in html
    told = [f"Not {name}: GPUs would differ." in html for name in stills.ways(extra)]
    assert told == [name in missing for name in stills.ways(extra)]


@pytest.mark.parametrize("n_rows", [0, 5, 100])
def test_rows_that_cannot_be_dealt_out_are_not_sent(n_rows: int) -> None:
    with pytest.raises(ValueError, match=f"must be a multiple of 8, got {n_rows}"):
        exchanged(hot_share=0.1, n_rows=n_rows, top_k=2)


def test_rows_that_are_drawn_meet_as_many_ranks_as_the_closed_form_says() -> None:
    """A row never draws an expert twice; one that could would meet 1 % fewer ranks."""
    homes = draw(np.ones(256), n_rows=20_000, top_k=8) // 32
    met = np.mean([len(set(row)) for row in homes.tolist()])
    closed = float(f.ROW_COPIES(ep=8, n_experts=256, top_k=8))
    assert met == pytest.approx(closed, rel=3e-3)
    assert closed > 1.007 * 8 * (1 - (7 / 8) ** 8)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_hot_share_is_a_share(share: float) -> None:
    with pytest.raises(ValueError, match=r"hot_share must be in \[0, 1\], got"):
        exchanged(hot_share=share, n_rows=8, top_k=2)


def test_a_group_cannot_be_cut_into_more_than_it_has() -> None:
    with pytest.raises(ValueError, match="tp must be at most ep, got 16 with ep = 8"):
        f.SP_BYTES.at(DEFAULT, n_rows=8, tp=16, ep=8)


def test_the_line_of_the_model_has_the_start_and_the_other_has_none() -> None:
    """At the last group size the constant of a transfer is what lies between them."""
    (panel,) = drawn.panels(stills.exchange)
    ends = {
        text.get_text(): (seen._name(text.get_color()), text.xy[1])
        for text in panel.texts
        if ", " in text.get_text()
    }
    assert len(ends) == 4
    solid = {seen._name(line.get_color()): line.get_ydata()[-1]
             for line in panel.lines if line.get_linestyle() == "-"}  # fmt: skip
    for way in ("dispatch", "combine"):
        ink, model = ends[f"{way}, model"]
        other, wire = ends[f"{way}, wire alone"]
        assert ink == other and solid[ink] == model > wire
        took = [1e6 * each.measured_s for each in exchange_time.compared()
                if each.way == way]  # fmt: skip
        dots = [
            line
            for line in panel.lines
            if line.get_linestyle() == "None" and seen._name(line.get_color()) == ink
        ]
        assert list(dots[0].get_ydata()) == pytest.approx(took)


@pytest.mark.parametrize("rows", SLIDERS["gpu_rows"].stops)
def test_the_sum_of_a_layer_is_that_of_its_parts_over_every_group(rows: float) -> None:
    """Heights in pixels over zero: rest, sending, and the longer of read and compute.

    What stands higher than the axis is drawn nowhere, but Vega places it all the same.
    """
    figure = figures.group()
    heights: dict[str, dict[int, float]] = {}
    for point in drawn.marks(figure, "line", gpu_rows=rows):
        row = heights.setdefault(point["ink"], {})
        row[round(point["x"])] = HEIGHT - point["y"]
    read, compute, send, rest = (
        heights[MEANINGS[part].name]
        for part in ("weights", "compute", "communication", "other")
    )
    assert len(read) > 10
    for x, whole in heights[INK.name].items():
        parts = [rest[x], send[x], max(read[x], compute[x])]
        assert whole == pytest.approx(sum(parts), abs=0.05)
        assert whole > max(parts)


def test_the_bytes_of_a_batch_count_the_shared_expert_and_the_router() -> None:
    """From the list of tensors of a layer, at the batch with which the figure opens."""
    known = figures.touched().values()
    expert, shared, router = 3 * 7168 * 2048, 3 * 7168 * 2048, 256 * 7168
    always = shared + router
    batch = 256 * (1 - (1 - 8 / 256) ** 64) * expert + always
    assert known["read_ratio"] == pytest.approx(batch / (8 * expert + always), rel=1e-6)


CAUSES = {"overloaded experts": "experts", "long contexts": "attention"}
LATE = re.compile(r"(GPU \d) has ([\w ]+): the (\w+) of (GPU \d) looks long")


def test_the_title_of_a_trace_names_what_is_long_on_which_gpu() -> None:
    """Read as it is drawn: rows by the names of the axis, bars by the words in them."""
    for panel in drawn.panels(overlap.traces):
        ticks = zip(panel.get_yticks(), panel.get_yticklabels(), strict=True)
        rows = {at: label.get_text() for at, label in ticks}
        took = {
            (rows[round(text.get_position()[1])], text.get_text()): bar.get_width()
            for text, bar in zip(panel.texts, panel.patches, strict=True)
        }
        named = LATE.fullmatch(panel.get_title(loc="left"))
        assert named
        late, cause, part, waiting = named.groups()
        for gpu, other in ((late, waiting), (waiting, late)):
            for work in CAUSES.values():
                longer = gpu == late and work == CAUSES[cause]
                assert bool(took[gpu, work] > took[other, work]) is longer, work
        idle = [key for key in took if "mostly waiting" in key[1]]
        assert idle == [(waiting, f"{part}, mostly waiting")]
        assert took[idle[0]] > took[late, part]
