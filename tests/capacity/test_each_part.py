"""Each part of the chapter's pictures and tables is what it is called."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from llmserve_lab.capacity import day, runs, triangle
from llmserve_lab.capacity.page import charts, minutes, stills
from llmserve_lab.disaggregation.goodput import ENOUGH
from llmserve_lab.page.live.readout import Verdict
from llmserve_lab.page.step.figure import StepLog
from tests.each import agrees, alive, live, numbers, step
from tests.page import drawn, seen

BURST = "capacity.burst_by_minute"
WATCHED = {  # how a log is called: what the autoscaler looks at, and its cold start
    "in flight, slow": ("requests in flight", runs.SLOW_S),
    "in flight, fast": ("requests in flight", runs.FAST_S),
    "queue, slow": ("waiting requests", runs.SLOW_S),
    "KV 80%, slow": ("KV cache in use, 80%", runs.SLOW_S),
}


def logs() -> Iterator[tuple[StepLog, runs.Stored]]:
    """Each log, and the stored run that its name says."""
    figure = step(BURST)
    assert set(figure.logs) == set(WATCHED)
    for name, (signal, cold_s) in WATCHED.items():
        (policy,) = (p for p in runs.policies(cold_s) if p.startswith(signal))
        yield figure.logs[name], runs.scaled_run(policy, cold_s)


def test_every_counter_and_sentence_of_a_minute_is_that_of_its_run() -> None:
    """Arrivals are counted in the requests; what is missed is summed up."""
    arrived = [0] * (minutes.LAST + 2)
    for each in runs.burst():
        arrived[min(int(each.arrival_s // 60), minutes.LAST + 1)] += 1
    labels = [each.label for each in step(BURST).counters]
    for log, run in logs():
        missed = 0
        for at, frame in enumerate(log.frames):
            missed += run.missed[at]
            want = {
                "replicas that serve": run.ready[at],
                "replicas that start": run.starting[at],
                "requests that wait for a slot": run.waiting[at],
                "late so far": missed,
            }
            assert labels == [*want] and frame.at == at + 1
            for counted, value in zip(frame.counters, want.values(), strict=True):
                assert numbers(str(counted))[0] == pytest.approx(value, abs=0.0051)
            minute, rate, serve, *more, share = numbers(frame.sentence)
            assert (minute, serve) == (at + 1, run.ready[at])
            assert rate == pytest.approx(arrived[at] / 60, abs=0.51)
            assert more == [run.starting[at]] * (run.starting[at] > 0)
            assert share == pytest.approx(100 * run.missed[at] / arrived[at], abs=0.51)


def test_a_cell_of_two_minutes_has_their_arrivals_or_their_share_that_missed() -> None:
    """Seen once they are over; blue in the lane of arrivals, the rest in the last."""
    inks = {what.split(":")[0]: ink for ink, what in step(BURST).legend.items()}
    arrived = [each.arrival_s for each in runs.burst()]
    for log, run in logs():
        cells = {
            "rates": ("arrive /s", inks["requests that arrive per second"]),
            "late": ("late %", inks["percent of the requests that miss a target"]),
        }
        assert set(log.tables) == {*cells, "runs"}  # fmt: skip
        for table, (lane, ink) in cells.items():
            for row in log.tables[table]:
                here = sum(60 * row["x"] <= t < 60 * row["x2"] for t in arrived)
                late = sum(run.missed[row["x"] : row["x2"]])
                whole = {"rates": here / 60 / (row["x2"] - row["x"]),
                         "late": 100 * late / here}[table]  # fmt: skip
                assert (row["y"], row["ink"]) == (lane, ink)
                assert float(row["text"]) == pytest.approx(whole, abs=0.51)
                assert log.frames[row["since"]].at == row["x2"]
                assert row["since"] == 0 or log.frames[row["since"] - 1].at < row["x2"]
        for at in range(minutes.LAST):
            end = min(at + 1, minutes.LAST - 1e-6)  # where the minute is read
            bars = [r for r in log.tables["runs"] if r["x"] <= end < r["x2"]]
            serve = [r["y"] for r in bars if r["ink"] == inks["replica that serves"]]
            start = [r["y"] for r in bars if r["ink"] == inks["replica that starts"]]
            names = [f"replica {n}" for n in range(1, runs.MOST + 1)]
            many = run.ready[at] + run.starting[at]
            assert sorted([*serve, *start]) == names[:many]
            assert len(serve) == run.ready[at]
        assert alive(log, "runs", 0)


TURNED = ("model", "accelerator", "load", "ttft", "tpot")


def menus() -> list[tuple[Any, ...]]:
    return [tuple(triangle.MODELS), tuple(triangle.DEVICES), triangle.LOADS,
            triangle.TTFTS_S, triangle.TPOTS_S]  # fmt: skip


@pytest.mark.parametrize("at", [(0, 0, 0, 1, 1), (0, 1, 0, 0, 2), (1, 3, 1, 1, 2),
                                (0, 0, 1, 1, 2)])  # fmt: skip
def test_readouts_of_the_triangle_are_those_of_the_run_that_is_chosen(
    at: tuple[int, ...],
) -> None:
    """The largest rate that keeps both targets, and that which keeps each by itself."""
    model, device, load, ttft_s, tpot_s = (
        m[i] for m, i in zip(menus(), at, strict=True)
    )
    figure = live("capacity.cost_latency")
    options = {c.name: c.options for c in figure.controls if hasattr(c, "options")}
    known = figure.values(
        **{name: options[name][i] for name, i in zip(TURNED, at, strict=True)}
    )
    found = triangle.points(model, device, load)
    i, j = at[3:]

    def up_to(share: Any) -> float:
        kept = [p.per_s for p in found if share(p) >= ENOUGH]
        return max(kept, default=0.0)

    rates = {
        "replica_rate": lambda p: p.kept[i][j],
        "first_rate": lambda p: p.soon[i],
        "token_rate": lambda p: p.steady[j],
    }
    for name, share in rates.items():
        next_up = min((p.per_s for p in found if p.per_s > up_to(share)), default=1e9)
        assert up_to(share) * 0.999 <= known[name] <= next_up, name
    price = known["gpu_hour"] * triangle.MODELS[model]
    assert known["price"] == pytest.approx(price)
    usd = price / 3600 / known["replica_rate"] * 1e6
    assert known["busy_cost"] == pytest.approx(usd, rel=1e-3)
    (binds,) = (each for each in figure.readouts if each.name == "binds")
    assert isinstance(binds, Verdict)
    late = known["first_rate"] < known["token_rate"]
    assert binds.cases[int(known["binds"])] == ("TTFT" if late else "TPOT")
    assert (ttft_s, tpot_s) == (triangle.TTFTS_S[i], triangle.TPOTS_S[j])


def test_a_dot_of_the_triangle_stands_at_its_tail_and_its_cost() -> None:
    figure = live("capacity.cost_latency")
    dots = drawn.marks(figure, "symbol")
    found = [p for p in triangle.points() if p.ttft_s <= triangle.LASTS_S]
    x = [float(np.log(p.tpot_s)) for p in found]
    y = [float(np.log(p.per_s)) for p in found]
    for at, side in ((x, "x"), (y, "y")):
        ends = (at.index(min(at)), at.index(max(at)))
        low, high = (dots[end][side] for end in ends)
        for dot, value in zip(dots, at, strict=True):
            share = (value - at[ends[0]]) / (at[ends[1]] - at[ends[0]])
            assert dot[side] == pytest.approx(low + share * (high - low), abs=1.0)
    texts = [t for t in drawn.texts(figure) if t.endswith("/s")]
    said = [t for t in texts if not t.startswith("goodput")]
    (named,) = (t.split()[1] for t in texts if t not in said)
    assert agrees(named[:-2], triangle.goodput(triangle.points(), 0.5, 0.02))
    assert said and all(
        any(agrees(text[:-2], p.per_s) for p in found[::3]) for text in said
    )
    rule, level = drawn.marks(figure, "rule")
    tokens = [d["x"] for d, p in zip(dots, found, strict=True) if p.tpot_s <= 0.02]
    assert max(tokens) <= rule["x"] + 1
    # the second crosses the curve where the goodput lies
    goodput = triangle.goodput(triangle.points(), 0.5, 0.02)
    dearer, cheaper = (
        [d["y"] for d, p in zip(dots, found, strict=True) if side(p.per_s)]
        for side in (goodput.__gt__, goodput.__lt__)
    )
    assert max(dearer) < level["y"] < min(cheaper)  # y grows downwards


def test_lines_of_the_share_in_time_are_those_of_their_targets() -> None:
    (panel,) = drawn.panels(stills.kept)
    found, at = triangle.points(), triangle.TTFTS_S.index(0.5)
    each = triangle.TPOTS_S.index(0.02)
    want = {
        "first token within": [p.soon[at] for p in found],
        "TPOT at most": [p.steady[each] for p in found],
        "both": [p.kept[at][each] for p in found],
    }
    lines = {
        line.get_label(): line for line in panel.lines if line.get_label()[0] != "_"
    }
    assert len(lines) == len(want)
    for words, shares in want.items():
        (line,) = (line for name, line in lines.items() if name.startswith(words))
        assert list(line.get_ydata()) == pytest.approx(shares)
        assert list(line.get_xdata()) == pytest.approx([p.per_s for p in found])
    shown, known = stills.kept(), live("capacity.cost_latency").values()
    late = known["first_rate"] < known["token_rate"]
    assert shown.title.endswith("TTFT" if late else "TPOT")
    assert numbers(shown.sentence)[-1] == pytest.approx(
        known["replica_rate"], abs=0.051
    )


def test_a_stretch_of_the_day_and_of_the_hour_has_the_ink_of_its_words() -> None:
    (panel,) = drawn.panels(lambda: stills.whole_day(13.0))
    (arrivals,) = (ln for ln in panel.lines if ln.get_label() == "arrivals")
    assert [*arrivals.get_ydata()] == pytest.approx(
        [day.rate(hour) for hour in arrivals.get_xdata()]
    )
    (steps,) = (p for p in panel.patches if "hour" in p.get_label())
    for hour, capacity in enumerate(steps.get_data().values):
        most = max(day.rate(hour + k / 60) for k in range(61))
        assert most * 0.98 <= capacity and capacity - 13 < most
    (panel,) = drawn.panels(stills.hour)
    inks = {seen._name(t.get_color()): numbers(t.get_text()) for t in panel.texts}
    for stairs in panel.patches:
        mean = stairs.get_data().values.mean()
        said = inks[seen._name(stairs.get_edgecolor())][-1]
        assert said == pytest.approx(mean, rel=0.02)


def test_words_behind_a_bar_of_signals_are_its_share_and_its_gpu_hours() -> None:
    (panel,) = drawn.panels(stills.signals)
    names = [label.get_text() for label in panel.get_yticklabels()]
    inks = {"vermillion": runs.SLOW_S, "blue": runs.FAST_S}
    beside = {
        text.xy: text.get_text() for text in panel.texts if "GPU-h" in text.get_text()
    }
    (dashed,) = (line for line in panel.lines if line.get_linestyle() == "--")
    allowed = 1 - triangle.LEVEL.share  # words stand behind the line of the promise
    assert list(dashed.get_xdata()) == pytest.approx([allowed] * 2)
    kept = [runs.scaled_run(name, runs.SLOW_S).kept for name in names]
    assert max(kept[:-1]) < 1 - allowed < kept[-1]
    assert kept == sorted(kept)
    assert len(beside) == len(panel.patches)
    for bar in panel.patches:
        middle = bar.get_y() + bar.get_height() / 2
        (said,) = (
            text
            for (x, y), text in beside.items()
            if x == max(bar.get_width(), allowed) and abs(y - middle) < 1e-6
        )
        run = runs.scaled_run(names[round(middle)],
                              inks[seen._name(bar.get_facecolor())])  # fmt: skip
        share, hours = numbers(said)
        assert share == pytest.approx(100 * (1 - run.kept), abs=0.51)
        assert hours == pytest.approx(run.gpu_h, abs=0.051)


def test_every_ink_of_the_triangle_is_of_a_name_of_its_legend() -> None:
    figure = live("capacity.cost_latency")
    told = drawn.legend(figure)
    assert set(told.values()) == set(charts.INKS)
    assert {d["ink"] for d in drawn.marks(figure, "symbol")} <= set(told)
