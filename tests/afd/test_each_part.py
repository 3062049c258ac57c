"""Each part of the chapter's pictures and tables is what it is called."""

import re
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np
import pytest

from llmserve_lab.afd import deployment
from llmserve_lab.afd.page import arrangements, pictures
from tests.each import Row, agrees, live, numbers, step
from tests.page import drawn, seen

H100, GPUS, TIGHT, LOOSE = "h100-sxm", 96, 0.05, 0.1
FLIGHTS = {"two": 2, "three": 3}
STATE = {
    "on its way to the FFN": "there",
    "in the FFN": "FFN",
    "on its way back": "back",
}


def lanes() -> dict[tuple[str, str], tuple[float, float]]:
    """Top and bottom of each lane, by flight and by the name that stands beside it.

    The wire has two: the way there above, the way back below.
    """
    fixed = step("afd.going_round").scene.fixed or {}
    boxes = sorted({(row["y"], row["y2"]) for row in fixed["boxes"]})
    heads = [row for row in fixed["names"] if "batches in flight" in row["text"]]
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for name in fixed["names"]:
        above = [head for head in heads if head["y"] < name["y"]]
        if name["text"][-2:] == "µs" or name in heads:
            continue
        flight = max(above, key=lambda head: head["y"])["text"].split()[0]
        near = [box for box in boxes if box[0] - 0.1 < name["y"] < box[1] + 0.1]
        if name["text"] == "wire":
            middle = name["y"]
            near = sorted(boxes, key=lambda box: abs(sum(box) / 2 - middle))[:2]
            found[flight, "there"], found[flight, "back"] = sorted(near)
        else:
            found[flight, name["text"]] = near[0]
    return found


def of_lane(flight: str, lane: str) -> list[Row]:
    (log,) = step("afd.going_round").logs.values()
    top, bottom = lanes()[flight, lane]
    return [
        dict(row)
        for row in log.tables["bars"]
        if (row["y"], row["y2"]) == (top, bottom)
    ]


def test_every_bar_of_the_round_is_in_a_lane_with_a_name() -> None:
    (log,) = step("afd.going_round").logs.values()
    named = {"A1", "A2", "A3", "there", "FFN", "back"}
    assert set(lanes()) == set(product(FLIGHTS, named))
    held = sum(len(of_lane(*each)) for each in lanes())
    assert held == len(log.tables["bars"])


@pytest.mark.parametrize("flight", FLIGHTS)
def test_a_batch_goes_from_attention_to_the_wire_to_the_ffn_and_back(
    flight: str,
) -> None:
    """Its ink is the legend's and its number is written on it; one a lane at a time."""
    figure = step("afd.going_round")
    batch = {ink: what.split()[-1] for ink, what in figure.legend.items()
             if what.startswith("batch ")}  # fmt: skip
    assert sorted(batch.values()) == ["1", "2", "3"]
    own = {ink: n for ink, n in batch.items() if int(n) <= FLIGHTS[flight]}
    work = {lane: [r for r in of_lane(flight, lane) if r["ink"] in batch]
            for lane in ("A1", "A2", "A3", "there", "FFN", "back")}  # fmt: skip
    for lane, bars in work.items():
        assert {row["ink"] for row in bars} == set(own)
        for row in bars:
            assert row["text"] in ("", own[row["ink"]])
        if lane[0] in "AF":
            bars.sort(key=lambda row: row["x"])
            assert all(a["x2"] <= b["x"] + 1e-6 for a, b in pairwise(bars))
            waits = [r for r in of_lane(flight, lane) if r["ink"] not in batch]
            assert {row["ink"] for row in waits} <= {"new", "idle"}
            taken = sum(row["x2"] - row["x"] for row in (*bars, *waits))
            assert taken == pytest.approx(max(row["x2"] for row in (*bars, *waits)))
    for ink in own:
        mine = {
            lane: [r for r in bars if r["ink"] == ink] for lane, bars in work.items()
        }
        for before, after in (("there", "FFN"), ("FFN", "back")):
            for row in mine[after]:
                if row["x"] > 0:
                    ends = [r["x2"] for r in mine[before] if r["x2"] <= row["x"] + 1e-6]
                    assert ends and max(ends) >= 0
        for row in mine["there"]:  # it leaves when the slowest machine is through
            if row["x"] > 0:
                came = (r["x2"] for i in (1, 2, 3) for r in mine[f"A{i}"])
                last = [end for end in came if end <= row["x"] + 1e-6]
                assert max(last) == pytest.approx(row["x"])


def going(flight: str, at: float) -> Iterator[tuple[str, str]]:
    """Batch and where it is at a moment, by the bars."""
    figure = step("afd.going_round")
    for lane in ("A1", "A2", "A3", "there", "FFN", "back"):
        for row in of_lane(flight, lane):
            what = figure.legend[row["ink"]]
            if what.startswith("batch ") and row["x"] <= at < row["x2"]:
                yield what.split()[-1], lane


def told_of(there: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Of a batch that is on machines already, only these are told."""
    busy = {n for n, lane in there if lane[0] == "A"}
    return {(n, lane) for n, lane in there if n not in busy or lane[0] == "A"}


def test_counters_and_sentence_of_a_moment_are_what_is_drawn_up_to_it() -> None:
    """How much of the time so far machines of a kind had no work; who is where now."""
    figure = step("afd.going_round")
    (log,) = figure.logs.values()
    flights = [each.label.split()[0] for each in figure.counters]
    assert flights == [*FLIGHTS] and "waited" in figure.counters[0].label
    for frame in log.frames:
        at = float(frame.at or 0)
        for flight, counted in zip(flights, frame.counters, strict=True):
            for kind, names in (("Attention", ("A1", "A2", "A3")), ("FFN", ("FFN",))):
                idle = [min(r["x2"], at) - r["x"] for lane in names
                        for r in of_lane(flight, lane)
                        if r["ink"] in ("new", "idle") and r["x"] < at]  # fmt: skip
                share = 100 * sum(idle) / (at * len(names))
                (said,) = re.findall(rf"{kind} (\d+)%", str(counted))
                assert float(said) == pytest.approx(share, abs=0.8), (flight, kind, at)
            (told,) = re.findall(rf"{flight} in flight, at (.*?)(?:\. |\.$)",
                                 frame.sentence, re.I)  # fmt: skip
            assert numbers(told)[0] == pytest.approx(at, abs=0.51)
            places = set()
            for n, where in re.findall(r"batch (\d) is (.*?)(?=, batch|$)", told):
                lane = STATE.get(where)
                places |= {
                    (n, each) for each in ([lane] if lane else where[3:].split(", "))
                }
            seen_at = [set(going(flight, moment)) for moment in (at, at - 1)]
            assert places in [*map(told_of, seen_at)], (flight, at)


def test_the_split_has_a_kind_on_each_machine_and_the_group_both_on_all() -> None:
    """Blue holds caches, green experts; a share of them that all machines have."""
    (panel,) = drawn.panels(arrangements.two_ways)
    heads = {t.get_text(): t.get_position()[0] for t in panel.texts}
    assert heads["a split: 3A–1F"] < 50 < heads["a wide group of four"]
    boxes: dict[str, list[str]] = {}
    for text in panel.texts:
        x, y = text.get_position()
        inside = [p for p in panel.patches
                  if p.get_x() < x < p.get_x() + p.get_width()
                  and p.get_y() < y < p.get_y() + p.get_height()]  # fmt: skip
        if inside:
            side = "split" if x < 50 else "group"
            ink = seen._name(inside[0].get_facecolor())
            boxes.setdefault(f"{side} {ink}", []).append(
                " ".join(text.get_text().split())
            )
    assert boxes == {
        "split blue": [f"A{i}: attention, caches" for i in (1, 2, 3)],
        "split green": ["FFN: all experts"],
        "group blue": ["attention, caches"] * 4,
        "group green": ["¼ of the experts"] * 4,
    }


def test_a_request_fills_the_slot_with_its_prompt_and_a_token_more_each_step() -> None:
    (panel,) = drawn.panels(pictures.looked_at)
    inks = drawn.inks(panel)
    for word, first, steps in (("short", 4, 3), ("long", 14, 9)):
        own = [p for p in panel.patches if seen._name(p.get_facecolor()) == inks[word]]
        heights = [bar.get_height() for bar in own]
        assert heights == [first + i for i in range(steps)] * 3
    said = pictures.looked_at().sentence
    mean = sum(p.get_height() for p in panel.patches) / len(panel.patches)
    assert agrees(said.split("holds ")[-1].split(" tokens")[0], mean)


def test_the_slowest_of_more_machines_is_later_and_each_curve_bears_its_number() -> (
    None
):
    (panel,) = drawn.panels(pictures.slowest)
    inks, tops = drawn.inks(panel), []
    for words in ("one machine", "slowest of 8", "slowest of 32"):
        (points,) = drawn.lines(panel)[inks[words]]
        x, share = np.array(points).T
        assert share.sum() == pytest.approx(1)
        tops.append(float(x @ share))
    assert tops[0] == pytest.approx(1, abs=0.01) and tops == sorted(tops)
    said = numbers(pictures.slowest().sentence)
    medians = [100 * (float(np.median(pictures.slowest_times(n))) - 1) for n in (8, 32)]
    assert said == [256, 8, pytest.approx(medians[0], abs=0.51), 32,
                    pytest.approx(medians[1], abs=0.51)]  # fmt: skip


def test_a_bar_of_every_split_is_that_split_s_and_the_line_is_the_group_s() -> None:
    figure = live("afd.every_split")
    bars = drawn.marks(figure, "rect")
    found = {
        each.n_attn: 0.0 for each in deployment.splits(H100, GPUS, copies="expert")
    }
    for each in deployment.splits(H100, GPUS, copies="expert", overlap="free"):
        rate = each.gpu_tokens_per_s(TIGHT)
        found[each.n_attn] = max(found[each.n_attn], rate)
    own = sorted((bar["x"], bar["height"]) for bar in bars if bar["ink"] == "blue")
    known = figure.values()
    most = max(found.values())
    assert known["split_gpu_tokens_per_s"] == pytest.approx(most, rel=1e-3)
    assert known["best_attn"] == max(found, key=lambda n: found[n])
    assert known["af_ratio"] == pytest.approx(
        known["best_attn"] / (GPUS - known["best_attn"]), rel=1e-2
    )
    shares = [high / max(h for _, h in own) for _, high in own]
    want = [rate / most for _, rate in sorted(found.items())]
    assert shares == pytest.approx(want, abs=0.01)
    (rule,) = drawn.marks(figure, "rule")
    (name,) = [w for w in drawn.marks(figure, "text") if w.get("text") == "one group"]
    assert rule["ink"] == name["ink"] == "green"
    foot = max(bar["y"] + bar["height"] for bar in bars)
    scale = max(h for _, h in own) / most
    group = known["group_gpu_tokens_per_s"]
    assert foot - rule["y"] == pytest.approx(group * scale, abs=1)
