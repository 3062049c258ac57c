"""Every bar, line and word of the chapter's stills and live figures, by its name.

Bars of passes have the milliseconds of the table, lines the values of the runs that the
words at their ends name, and the curves of a live figure meet its readouts.
"""

import re
from typing import Any

import pytest

from llmserve_lab.catalog.evidence.speculation import BATCH_RUNS, HEAD_RUNS
from llmserve_lab.page.palette import BLUE, GOLD
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative.page import charts, figures, stills, tables
from tests.page import drawn, seen
from tests.page.stills import MADE_OF

Points = list[list[float]]
NAME = re.compile(r"(.+), (measured|predicted)")


def parts() -> dict[str, dict[str, float]]:
    """Milliseconds by pass and part, from the table."""
    table = tables.pass_parts()
    heads = [str(head) for head in table.columns[1:]]
    return {
        head: {str(row[0]): float(str(row[at])) for row in table.rows}
        for at, head in enumerate(heads, start=1)
    }


def test_each_part_of_a_bar_is_that_of_its_pass_in_the_table() -> None:
    (panel,) = drawn.panels(stills.passes)
    assert panel.get_xlabel() == "time of a pass of the target (ms)"
    lengths = {str(c.get_label()): [b.get_width() for b in c] for c in panel.containers}
    starts = {str(c.get_label()): [b.get_x() for b in c] for c in panel.containers}
    inks = {seen._name(c[0].get_facecolor()) for c in panel.containers}
    assert len(inks) == len(panel.containers)
    handles, words = panel.get_legend_handles_labels()
    assert words == [handle.get_label() for handle in handles]
    for row, label in enumerate(panel.get_yticklabels()):
        batch, drafts = label.get_text().split(",\n")
        count = drafts.split()[0].replace("no", "0")
        known = parts()[f"B={batch.split()[0]}, γ={count}"]
        whole = known.pop("in all (ms)")
        assert known.pop("rows") == int(batch.split()[0]) * (int(count) + 1)
        assert {k: v[row] for k, v in lengths.items()} == pytest.approx(known, abs=6e-4)
        left = 0.0
        for part in known:
            assert starts[part][row] == pytest.approx(left, abs=1e-6)
            left += lengths[part][row]
        (said,) = (t.get_text() for t in panel.texts if t.xy[1] == row)
        assert said == f"{whole:.2f} ms"
    one, many = re.findall(r"([\d.]+)%", stills.passes().sentence)
    grown = [parts()[f"B={b}, γ=4"]["in all (ms)"] for b in (1, 64)]
    plain = [parts()[f"B={b}, γ=0"]["in all (ms)"] for b in (1, 64)]
    assert float(one) == pytest.approx(100 * (grown[0] / plain[0] - 1), abs=0.06)
    assert float(many) == pytest.approx(100 * (grown[1] / plain[1] - 1), abs=0.6)


def test_each_block_of_the_round_lasts_as_long_as_its_word() -> None:
    """A plain pass, a draft of the small model, and a check of three drafts."""
    (panel,) = drawn.panels(stills.timeline)
    assert panel.get_xlabel() == "time (ms)"
    known = parts()
    check = 1e3 * m.verify_s(1, 3)
    last = {
        "1 token": (known["B=1, γ=0"]["in all (ms)"], BLUE),
        "draft": (known["draft, B=1"]["in all (ms)"], GOLD),
        "check": (check, BLUE),
    }
    assert known["B=1, γ=0"]["in all (ms)"] < check < known["B=1, γ=4"]["in all (ms)"]
    lanes = [label.get_text() for label in panel.get_yticklabels()]
    assert lanes == ["one round", "three\nplain passes"]
    said = {0: ["draft"] * 3 + ["check"], 1: ["1 token"] * 3}
    yields = {0: 1 + sum(chances(3)), 1: 3.0}
    for row, words in said.items():
        bars = [
            b for b in panel.patches if round(b.get_y() + b.get_height() / 2) == row
        ]
        bars.sort(key=lambda bar: bar.get_x())
        assert len(bars) == len(words)
        left = 0.0
        for bar, word in zip(bars, words, strict=True):
            wide, look = last[word]
            assert bar.get_x() == pytest.approx(left, abs=0.01)
            assert bar.get_width() == pytest.approx(wide, abs=0.1)  # and a gap
            assert seen._name(bar.get_facecolor()) == seen._name(look.light)
            (text,) = (
                t.get_text()
                for t in panel.texts
                if t.get_position() == (pytest.approx(left + wide / 2, abs=0.01), row)
            )
            assert text == word
            left += wide
        (end,) = (
            t.get_text() for t in panel.texts if getattr(t, "xy", (0, -1))[1] == row
        )
        tokens, ms = re.findall(r"([\d.]+) tokens, ([\d.]+) ms", end)[0]
        assert float(tokens) == pytest.approx(yields[row], abs=0.006)
        assert float(ms) == pytest.approx(left, abs=0.011)


def chances(drafts: int) -> list[float]:
    """That so many drafts are kept: each so many times as likely as the one before."""
    law, found, left = m.usual(), [], 1.0
    for place in range(drafts):
        left *= law.rate * law.falls**place
        found.append(left)
    return found


def named(panel: Any) -> dict[tuple[str, str], tuple[Points, str]]:
    """Lines whose end bears a name: points, and kind of line; in the words' ink."""
    found = {}
    for text in panel.texts:
        words = NAME.fullmatch(text.get_text())
        if words:
            (line,) = (
                each
                for each in panel.lines
                if len(each.get_xdata()) > 1
                and each.get_xydata()[-1].tolist() == list(text.xy)
            )
            assert line.get_color() == text.get_color()
            found[words[1], words[2]] = (
                line.get_xydata().tolist(),
                line.get_linestyle(),
            )
    return found


def drawn_as(kind: str) -> str:
    return "-" if kind == "measured" else "--"


def test_each_line_of_the_heads_is_the_round_that_its_end_names() -> None:
    """A round: the time of a token, as the table has it, times the tokens of a pass."""
    (panel,) = drawn.panels(stills.heads)
    assert panel.get_ylabel() == "time of a round (ms)"
    assert panel.get_xlabel() == "drafts of a request"
    lines, heads = named(panel), [str(c) for c in tables.heads().columns]
    table = {
        str(r[0]): dict(zip(heads, map(str, r), strict=True))
        for r in tables.heads().rows
    }
    assert set(lines) == {
        (run.name, kind) for run in HEAD_RUNS for kind in ("measured", "predicted")
    }
    for (name, kind), (points, style) in lines.items():
        assert style == drawn_as(kind)
        for drafts, ms in points:
            row = table[f"{name}, {drafts:.0f}"]
            tokens, each = float(row["tokens of a pass"]), float(row[kind].split()[0])
            assert ms == pytest.approx(tokens * each, rel=2e-3)
    (plain,) = (line for line in panel.lines if line.get_marker() == "D")
    assert plain.get_xydata().tolist() == [[0, pytest.approx(7.07)]]
    off = [float(str(r[-1]).rstrip("%")) for r in tables.heads().rows]
    assert f"by up to {min(off):.0f}%" in stills.heads().sentence


def test_each_line_of_the_batches_is_the_speedup_that_its_end_names() -> None:
    (panel,) = drawn.panels(stills.batches)
    assert panel.get_xlabel() == "requests in one batch"
    assert panel.get_ylabel() == "speedup"
    lines, heads = named(panel), [str(c) for c in tables.batches().columns]
    found = {
        str(r[0]): dict(zip(heads, map(str, r), strict=True))
        for r in tables.batches().rows
    }
    tasks = {name for name, _ in lines}
    assert tasks == {BATCH_RUNS[0].task, BATCH_RUNS[-1].task} and len(lines) == 4
    for (task, kind), (points, style) in lines.items():
        assert style == drawn_as(kind)
        for batch, gain in points:
            row = found[f"{task}, {batch:.0f}"]
            assert gain == pytest.approx(float(row[kind]), abs=0.006), (task, kind)
    said = re.findall(r"up to (\d+)% on (\S+)", stills.batches().sentence)
    for percent, task in said:
        off = [
            abs(float(r["off by"][:-1])) for k, r in found.items() if k.startswith(task)
        ]
        assert float(percent) == max(off)
    assert len(said) == 2


def test_each_bar_of_the_gains_is_that_of_its_number_of_drafts() -> None:
    asked = MADE_OF["speculative.stills.gains"]
    (panel,) = drawn.panels(lambda: stills.gains(**asked))
    batch, source = asked["batch"], asked["source"]
    heights = {
        round(b.get_x() + b.get_width() / 2): b.get_height() for b in panel.patches
    }
    plain = m.plain_s(batch)
    want = {}
    for k in range(1, 9):
        took = m.verify_s(batch, k) + m.drafting_s(batch, k, source)
        want[k] = (1 + sum(chances(k))) * plain / took
    assert heights == pytest.approx(want, rel=0.01)  # the CPU is paid once a round
    said = re.findall(
        r"gives ([\d.]+), eight give ([\d.]+)\.", stills.gains(**asked).sentence
    )
    assert said == [(f"{heights[1]:.2f}", f"{heights[8]:.2f}")]


# Live figures.
def level(y: float, domain: tuple[float, float], tall: float = 250) -> float:
    """What stands at a height of a chart, in the units of its axis."""
    return domain[1] - (domain[1] - domain[0]) * y / tall


def on_line(marks: list[dict[str, Any]], look: str, x: float) -> float:
    """Height of a line of an ink at a place."""
    own = [each for each in marks if each["ink"] == look]
    return float(min(own, key=lambda each: abs(each["x"] - x))["y"])


@pytest.mark.parametrize("batch", [16.0, 128.0])
def test_each_curve_meets_the_speedup_of_its_drafts_at_the_batch(batch: float) -> None:
    """Grey lies below a speedup of one, from edge to edge."""
    figure, known = figures.when_drafts_lose(), {"batch": batch, "n_draft": 4.0}
    lines = drawn.marks(figure, "line", **known)
    texts = {t["text"]: t for t in drawn.marks(figure, "text", **known) if "text" in t}
    (at,) = (
        each["x"]
        for each in drawn.marks(figure, "rule", **known)
        if each.get("strokeDash") and each["x"] > 0
    )
    for name, drafts in (("with these drafts", 4.0), ("with one draft", 1.0)):
        y = on_line(lines, texts[name]["ink"], at)
        gain = figure.values(batch=batch, n_draft=drafts)["speculative_speedup"]
        assert level(y, (0, 2.8)) == pytest.approx(gain, abs=0.03), name
    (loss,) = (
        r for r in drawn.marks(figure, "rect", **known) if r.get("opacity", 1) < 1
    )
    assert level(loss["y"], (0, 2.8)) == pytest.approx(1, abs=0.01)
    assert level(loss["y"] + loss["height"], (0, 2.8)) == pytest.approx(0, abs=0.01)
    assert texts["below: drafts lose"]["y"] == pytest.approx(loss["y"], abs=12)


@pytest.mark.parametrize("law", ["constant", "falling"])
def test_each_law_ends_at_the_tokens_of_its_readout(law: str) -> None:
    figure = figures.tokens_of_a_pass()
    lines = drawn.marks(figure, "line")
    texts = {t["text"]: t for t in drawn.marks(figure, "text") if "text" in t}
    look = texts[f"{law} acceptance"]["ink"]
    ends = max(each["x"] for each in lines)
    name = "flat_accepted" if law == "constant" else "falling_accepted"
    found = level(on_line(lines, look, ends), (1, 7))
    want = min(figure.values()[name], 7.0)
    assert found == pytest.approx(want, abs=0.03)
    assert texts["● measured"]["ink"] == drawn.marks(figure, "symbol")[0]["ink"]
    assert {mark.name for mark in charts.LAWS} <= set(texts)
