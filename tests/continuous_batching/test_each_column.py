"""Every column of the chapter's tables, and every mark of its stills and live figures.

Columns by their heads: from records, from other cells, and from replaced runs of which
each has its own number. Marks: from the runs that their names name.
"""

import re
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from llmserve_lab.catalog.evidence import one_h100
from llmserve_lab.catalog.evidence.schedulers import MIXING, READ_IN_CHUNKS
from llmserve_lab.continuous_batching import (
    arrival_rates,
    on_one_gpu,
    on_transformer,
    piggyback,
    published,
    tuning,
)
from llmserve_lab.continuous_batching.machine import (
    DECODES,
    GRAPH_ROWS,
    LONG,
    TARGET_S,
    hidden,
)
from llmserve_lab.continuous_batching.page import figures, stills
from llmserve_lab.continuous_batching.page.controls import LIMITS
from llmserve_lab.continuous_batching.toy import model
from llmserve_lab.page.table import Table
from llmserve_lab.running_example import ANSWER, cost
from tests.page import drawn, seen
from tests.page.stills import STILLS

Row = dict[str, str]


def rows(table: Table) -> list[Row]:
    heads = [str(head) for head in table.columns]
    assert len(set(heads)) == len(heads)
    return [dict(zip(heads, map(str, row), strict=True)) for row in table.rows]


def number(text: str) -> float:
    (found, *_) = re.findall(r"[−+-]?\d[\d,]*\.?\d*", text)
    return float(found.replace(",", "").replace("−", "-"))


def test_each_ratio_stands_under_its_metric_and_how_it_was_found() -> None:
    """Measured: by the paper's rows. The engine's runs are replaced by numbers."""

    def simulated(load: str, name: str) -> tuple[float, float]:
        place = 10 * (load == "papers") + list(published.SCHEDULERS).index(name)
        return 1.0 + place, 2.0 / (1 + place)

    how = {"engine": simulated}
    with mock.patch.dict(published.HOW, how):
        found = {
            row.pop("load, scheduler"): row for row in rows(published.mixing_table())
        }
    measured = {each.scheduler: each for each in MIXING}
    for name, row in found.items():
        load, scheduler = name.split(", ")
        seen, both = (getattr(measured[s], load) for s in (scheduler, "both"))
        made, whole = (simulated(load, s) for s in (scheduler, "both"))
        assert row == {
            "TTFT, measured": f"{float(seen[0]) / float(both[0]):.1f}",
            "gap, measured": f"{float(seen[1]) / float(both[1]):.1f}",
            "TTFT, engine": f"{made[0] / whole[0]:.1f}",
            "gap, engine": f"{made[1] / whole[1]:.1f}",
        }, name
    assert len(found) == 4


@pytest.mark.parametrize("table", [published.chunk_table, on_one_gpu.chunk_times_table])
def test_the_engine_is_off_by_its_time_over_the_measured_one(table: Any) -> None:
    for row in rows(table()):
        off = 100 * (number(row["engine"]) / number(row["measured"]) - 1)
        half = 100 / number(row["measured"])  # a millisecond
        assert number(row["engine off by"]) == pytest.approx(off, abs=0.5 + half)


def test_each_measured_chunk_is_that_of_its_row() -> None:
    for row in rows(published.chunk_table()):
        prompt = int(row["prompt (tokens)"].replace(",", ""))
        each_s = float(READ_IN_CHUNKS[prompt, GRAPH_ROWS]) / -(-prompt // GRAPH_ROWS)
        assert row["measured"] == f"{1e3 * each_s:.0f} ms"
    timed = one_h100.mean_seconds()
    for row in rows(on_one_gpu.chunk_times_table()):
        chunk, prefix = (
            int(row[head].replace(",", ""))
            for head in ("chunk (rows)", "after (tokens)")
        )
        ((size, seconds),) = (
            (size, s)
            for size, s in timed.items()
            if (size.chunk, size.prefix, size.decodes) == (chunk, prefix, 31)
        )
        assert row["measured"] == f"{1e3 * seconds:.0f} ms" and size.context == 1100


def test_each_scheduler_has_its_own_passes() -> None:
    """By the requests' lengths: all rows are run once, none more than the budget."""
    every = sum(on_transformer.PROMPTS) + sum(a - 1 for a in on_transformer.ANSWERS)
    for row in rows(on_transformer.agreement()):
        sizes = [
            sum(part.rows for part in each)
            for each in on_transformer.driven(
                on_transformer.POLICIES[row["scheduler"]]
            ).passes
        ]
        assert row["passes"] == str(len(sizes))
        assert row["rows in all"] == str(sum(sizes))
        assert row["rows of the largest"] == str(max(sizes))
        assert row["tokens"] == "same"
        if "budget" in row["scheduler"]:
            assert max(sizes) == number(row["scheduler"])
        if "static" not in row["scheduler"]:
            assert sum(sizes) == every


def test_each_part_of_an_iteration_has_its_stage_and_its_places() -> None:
    parts = [
        piggyback.Part(name="E", rows=4, context=6),
        piggyback.Part(name="A", context=5),
        piggyback.Part(name="D", rows=3),
    ]
    start = 0
    alike = rows(piggyback.same_as_alone(model(), parts))
    for row, same, part in zip(
        rows(piggyback.boundaries(parts)), alike, parts, strict=True
    ):
        stage = "chunk" if part.context else "prefill"
        stage = "decode" if part.rows == 1 else stage
        end = start + part.rows
        assert row == {
            "request": part.name, "stage": stage, "q_start": str(start),
            "q_end": str(end), "rows": str(part.rows),
            "kv_length": str(part.context + part.rows),
        }  # fmt: skip
        assert (same["request"], same["stage"]) == (part.name, stage)
        start = end


# Stills.
SWEPT = {"static": 100.0, "continuous": 150.0}  # tokens a second, of each request a s
FULL = {"static": 1.0, "continuous": 5.0}


def test_each_line_of_the_load_is_the_sweep_that_its_word_names() -> None:
    """The runs take long, so others are put in their place, and each has its own."""
    rates = arrival_rates.RATES
    want = {name: [each * rate for rate in rates] for name, each in SWEPT.items()}
    skipped = SimpleNamespace(throughput_tokens_per_s=3.0)
    with (
        mock.patch.object(stills, "sweep", want.__getitem__),
        mock.patch.object(arrival_rates, "saturation", lambda name, _: FULL[name]),
        mock.patch.object(arrival_rates, "skipping", lambda _: skipped),
    ):
        upper, lower = drawn.panels(lambda: stills.load(arrival_rates.causes()))
    assert upper.get_xlabel() == "requests that arrive each second"
    assert {panel.get_ylabel() or panel.get_xlabel() for panel in (upper, lower)} == {
        "output tokens/s", "output tokens/s, saturated",
    }  # fmt: skip
    inks, lines = drawn.inks(upper), drawn.lines(upper)
    want["asked for"] = [rate * ANSWER for rate in rates]
    assert set(inks) == set(want) and len(set(inks.values())) == len(want)
    for name, ink in inks.items():
        (line,) = lines[ink]
        assert line == [*zip(rates, want[name], strict=True)], name
    bars = sorted(lower.patches, key=lambda bar: -bar.get_y())
    words = sorted(lower.texts, key=lambda text: -text.get_position()[1])
    found = [
        (text.get_text(), bar.get_width())
        for text, bar in zip(words, bars, strict=True)
    ]
    assert found == [
        ("static: 1", 1.0),
        ("static, wasted rows skipped: 3", 3.0),
        ("continuous: slots refilled, too: 5", 5.0),
    ]
    assert [seen._name(bar.get_facecolor()) for bar in bars] == [
        inks["static"], inks["asked for"], inks["continuous"],
    ]  # fmt: skip


def test_each_mark_of_the_budgets_stands_at_its_own_trade() -> None:
    """Above the longest gap in ms, below the TTFT in s; a word has its mark's ink."""
    panels = drawn.panels(STILLS["continuous_batching.stills.budgets"])
    assert [panel.get_ylabel() for panel in panels] == ["gap (ms, log)", "TTFT (s)"]
    assert panels[1].get_xlabel() == "token budget (rows, log)"
    for panel, name, scale in zip(panels, ("gap_s", "ttft_s"), (1e3, 1.0), strict=True):
        made = {
            rows_: scale * getattr(tuning.trade(rows_), name)
            for rows_ in tuning.BUDGETS
        }
        lines = [line for line in panel.lines if len(line.get_xdata()) > 1]
        curve = {
            x: y
            for line in lines
            if line.get_linestyle() == "-"
            for x, y in line.get_xydata()
        }
        assert curve == pytest.approx(made)
        marks = {
            line.get_marker(): line
            for line in panel.lines
            if len(line.get_xdata()) == 1
        }
        for mark, at in (("o", GRAPH_ROWS), ("s", tuning.DEFAULT)):
            assert marks[mark].get_xydata().tolist() == [[at, pytest.approx(made[at])]]
        (shade,) = panel.collections
        edges = shade.get_paths()[0].vertices
        for rows_ in tuning.BUDGETS:
            ys = sorted({y for x, y in edges if x == rows_})
            both = (tuning.trade(rows_, hidden()), tuning.trade(rows_, cost()))
            ends = sorted(scale * getattr(each, name) for each in both)
            assert [ys[0], ys[-1]] == pytest.approx(ends)
    upper = panels[0]
    inks = drawn.inks(upper)
    for line in upper.lines:
        if line.get_marker() in ("o", "s"):
            word = f"{GRAPH_ROWS}" if line.get_marker() == "o" else "default"
            (text,) = (t for t in upper.texts if t.get_text() == word)
            assert text.get_color() == line.get_color(), word
    assert set(inks) == {"target", "default", f"{GRAPH_ROWS}"}


# Live figures.
@pytest.mark.parametrize("limit", LIMITS)
def test_each_readout_of_the_lanes_is_what_its_run_draws(limit: str) -> None:
    """By the ends of iterations, as they are stored for the chart."""
    figure = figures.lanes()
    known, place = figure.values(limit=limit), LIMITS.index(limit)
    lines = [line.split(",") for line in figure.spec["data"]["values"].split("\n")[1:]]
    run = [(float(b), p == "1") for c, b, p in lines if int(c) == place]
    read = [
        (start, end)
        for (start, _), (end, prompt) in pairwise(run)
        if prompt and end > 0 and start >= 0
    ]
    gaps = [end - start for start, end in read]
    assert known["reader_tokens"] == len(read)
    assert known["longest_gap_s"] == pytest.approx(max(gaps), abs=2e-3)
    assert known["mean_gap_s"] == pytest.approx(sum(gaps) / len(gaps), abs=2e-3)
    assert known["first_s"] == pytest.approx(read[-1][1], abs=2e-3)
    after = figure.values(limit=LIMITS[min(place + 1, len(LIMITS) - 1)])
    if place < len(LIMITS) - 1:
        assert known["next_gap_s"] == after["longest_gap_s"]
        chunk = number(limit) - DECODES
        assert len(read) == -(-LONG // chunk)
    calm_s = float(re.findall(r"a gap is ([\d.]+) ms", figure.sentence)[0]) / 1e3
    assert calm_s < min(gaps)


def test_each_line_of_the_chunk_crosses_the_target_where_its_words_say() -> None:
    """At the longest chunk that of the prefix; the other one later, as it is lower."""
    figure = figures.chunk_from_target()
    texts = {
        each["text"]: each for each in drawn.marks(figure, "text") if "text" in each
    }
    rules = {each["ink"] for each in drawn.marks(figure, "rule")}
    lines = drawn.marks(figure, "line")
    at = next(t["x"] for text, t in texts.items() if "longest chunk" in text)
    level = texts["target"]["y"]
    heights = {}
    for name in ("at the prompt's start", "after this prefix"):
        ink = texts[name]["ink"]
        assert ink in rules
        own = [each for each in lines if each["ink"] == ink]
        heights[name] = min(own, key=lambda each: abs(each["x"] - at))["y"]
    assert heights["after this prefix"] == pytest.approx(level, abs=6)
    assert heights["at the prompt's start"] > level + 6  # pixels from the top
    assert figure.values()["tbt_target"] == TARGET_S
