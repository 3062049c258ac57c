"""Each part of the chapter's pictures is what it is called, frame by frame."""

import csv
import io
from collections.abc import Callable
from statistics import fmean
from typing import Any

import numpy as np
import pytest

from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.page import (
    blind_table,
    charts,
    controls,
    expert_tables,
    pictures,
    playground,
    tables,
    trust_picture,
    twin_blind,
)
from llmserve_lab.how_wrong.record import record, row_errors, validated
from llmserve_lab.validation import achieved, dense_rows
from llmserve_lab.validation.dense_trial import trial_record
from tests.each import alive, live, numbers, rows, step
from tests.how_wrong.anew import KINDS, errors, first, mean
from tests.page import drawn, seen

FOLDS = "how_wrong.leave_one_group_out"
BACK = {name: key for key, name in NAMES.items()}


def test_each_frame_of_the_folds_predicts_a_model_by_the_others_rows() -> None:
    """Its counter, its bar and its words are the mean error of that model's rows."""
    figure = step(FOLDS)
    (log,) = figure.logs.values()
    (counter,) = figure.counters
    assert (counter.label, counter.unit) == ("mean error of TPOT", "%")
    sheet, every = mean(errors("tpot", "datasheet")), errors("tpot", "model")
    order = [m for m in figure.scene.y.domain if m in BACK]
    lines = dict(zip(order, range(1, len(order) + 1), strict=True))
    assert len(order) == 3 and len(log.frames) == 5
    new, old = (next(ink for ink, what in figure.legend.items() if word in what)
                for word in ("never saw", "datasheet alone"))  # fmt: skip
    for at, frame in enumerate(log.frames):
        bars = {row["model"]: row for row in alive(log, "bars", at)}
        words = {row["y"]: row["text"] for row in alive(log, "words", at)}
        assert set(bars) == {
            "datasheet",
            *(m for m, since in lines.items() if since <= at),
        }
        inks = {bar["ink"] for model, bar in bars.items() if model in BACK}
        assert bars["datasheet"]["ink"] == old and inks <= {new}
        for model, since in lines.items():
            own = errors("tpot", "model", model=BACK[model])
            if since <= at:
                assert bars[model]["end"] == pytest.approx(mean(own), abs=0.051)
                assert numbers(words[model])[0] == pytest.approx(mean(own), abs=0.051)
            else:
                assert numbers(words[model]) == [len(own)]
                assert ("how far off" in words[model]) == (since == 1)
            if since == at:
                said = numbers(frame.sentence.split("rows of", 1)[1].split(model)[1])
                assert said == [pytest.approx(mean(own), abs=0.051)]
                fitted = len(every) - len(own)
                assert f"fitted to the {fitted} rows" in frame.sentence
                assert f"the {len(own)} rows of {model}" in frame.sentence
                assert frame.counters[0] == pytest.approx(mean(own), abs=0.01)
        assert numbers(words["datasheet"])[0] == pytest.approx(sheet, abs=0.051)
    begin, end = log.frames[0], log.frames[-1]
    apart = errors("tpot", "model", model=BACK[order[0]])
    assert f"to the {len(every) - len(apart)} rows of the two smaller" in begin.sentence
    assert begin.counters[0] == pytest.approx(sheet, abs=0.01)
    assert end.counters[0] == pytest.approx(mean(every), abs=0.01)
    assert numbers(end.sentence)[0] == pytest.approx(mean(every), abs=0.051)


NEW = {
    "new: a server": "server",
    "new: a kind of GPU": "system",
    "new: a model": "model",
    "new: an engine": "engine",
}


def told(panel: object) -> dict[str, object]:
    """What stands beside each handle of a legend."""
    legend = panel.get_legend()  # type: ignore[attr-defined]
    words = [text.get_text() for text in legend.get_texts()]
    return dict(zip(words, legend.legend_handles, strict=True))


def alone(sort: str) -> float:
    """Mean error of one sort of the blind iterations on one GPU."""
    return fmean(
        abs(each.predicted_s / float(each.run.seconds) - 1)
        for each in blind_table.errors("fitted", sort)
    )


BLIND: dict[str, Callable[[], float]] = {
    "twin, decode steps": lambda: twin_blind.score().mean_error,
    "one GPU, decode steps": lambda: alone("decode"),
    "mixtures, TPOT, best trial": lambda: min(expert_tables.span()),
    "mixtures, TPOT, worst trial": lambda: max(expert_tables.span()),
    "dense, whole answers": lambda: round(
        fmean(abs(each) for each in trial_record()["errors"]["book"]), 5
    ),
    "one GPU, whole prompts": lambda: alone("prompt"),
}


def test_a_bar_of_trust_is_a_mean_and_its_ink_says_how_it_was_tried() -> None:
    """What was left out of a fit above, and what was predicted blind below."""
    (panel,) = drawn.panels(trust_picture.trust)
    names = [label.get_text() for label in panel.get_yticklabels()]
    assert names == [*NEW, *BLIND]
    handles: dict[str, Any] = told(panel)
    inks = {seen._name(h.get_facecolor()): words for words, h in handles.items()}
    assert {*inks.values()} == {"left out of the fit", "blind"}
    words = [text.get_text() for text in panel.texts]
    longest = 0.0
    for name, bar, said in zip(names, panel.patches, words, strict=True):
        how = inks[seen._name(bar.get_facecolor())]
        assert how == ("blind" if name in BLIND else "left out of the fit")
        size = mean(errors("tpot", NEW[name])) if name in NEW else 100 * BLIND[name]()
        assert numbers(said) == pytest.approx([size], abs=0.051)
        assert bar.get_width() == pytest.approx(size) and size > longest
        longest = size
    assert numbers(trust_picture.trust().sentence) == [len(dense_rows())]
    sizes = [numbers(each)[0] for each in words]
    ends = [sizes[0], sizes[len(NEW) - 1], sizes[len(NEW)], sizes[-1]]
    assert numbers(trust_picture.trust().title) == pytest.approx(ends, abs=0.51)


def test_a_bar_of_an_engine_is_darker_the_more_its_band_does() -> None:
    """Plain, symmetric, raised: the symmetric one gains more than the exponent."""
    (panel,) = drawn.panels(pictures.held)
    engines = [label.get_text() for label in panel.get_yticklabels()]
    handles: dict[str, Any] = told(panel)
    dark = {h.get_alpha(): t for t, h in handles.items() if t[:2] != "to"}
    assert [dark[each] for each in sorted(dark)] == [
        "plain band", "symmetric band", "book’s band"
    ]  # fmt: skip
    tried = validated()["coverage"]["tried"]["engine"]["tpot"]
    nested = record()["nested"]["engine"]
    for bar, text in zip(panel.patches, panel.texts, strict=True):
        middle = bar.get_y() + bar.get_height() / 2
        engine = BACK[engines[round(-middle)]]
        _, plain, even, _ = tried[engine]
        held = {"plain band": plain, "symmetric band": even,
                "book’s band": nested[engine]["tpot"][1]}  # fmt: skip
        share = 100 * held[dark[bar.get_alpha()]]
        assert bar.get_width() == pytest.approx(share, abs=0.01)
        assert float(text.get_text()) == pytest.approx(share, abs=0.51)
        assert text.get_position()[1] == pytest.approx(middle)
    found = pictures.held()
    rows_of = {engine: tried[engine][0] for engine in pictures.LEFT_ENGINES}
    shares = [
        sum(rows_of[e] * held for e, held in of.items()) / sum(rows_of.values())
        for of in (
            {e: tried[e][1] for e in rows_of}, {e: tried[e][2] for e in rows_of},
            {e: nested[e]["tpot"][1] for e in rows_of},
        )
    ]  # fmt: skip
    plain, even, wide = shares
    assert even - plain > 5 * (wide - even) > 0  # as the text says
    most = {e: max(*tried[e][1:3], nested[e]["tpot"][1]) for e in rows_of}
    (missed,) = (e for e, share in most.items() if share < 0.9)
    assert f"of {NAMES[missed]}," in found.title
    exponents = [nested[e]["tpot"][0] for e in pictures.LEFT_ENGINES]
    assert numbers(found.sentence) == pytest.approx(
        [*exponents, *(round(100 * each) for each in shares)]
    )


def test_parts_of_a_token_are_the_terms_of_the_table_and_sum_to_its_words() -> None:
    (panel,) = drawn.panels(pictures.token)
    ways = {tick: label.get_text() for tick, label in
            zip(panel.get_yticks(), panel.get_yticklabels(), strict=True)}  # fmt: skip
    legend = panel.get_legend()
    inks = {seen._name(h.get_facecolor()): t.get_text() for h, t in
            zip(legend.get_patches(), legend.get_texts(), strict=True)}  # fmt: skip
    parts: dict[str, dict[str, float]] = {way: {} for way in ways.values()}
    for bar in panel.patches:
        way = ways[round(bar.get_y() + bar.get_height() / 2)]
        parts[way][inks.get(seen._name(bar.get_facecolor()), "whole")] = bar.get_width()
    said = {ways[t.get_position()[1]]: first(t.get_text()) for t in panel.texts}
    assert [*said] == ["datasheet", "book", "measured"]
    for way, spent in parts.items():
        assert sum(spent.values()) == pytest.approx(said[way], abs=0.051)
    ms = {line["term"]: float(line["ms"]) for line in rows(tables.iteration())}
    own = parts["book"]
    assert own["link"] == pytest.approx(ms["link"], abs=1e-3)
    assert own["requests"] == pytest.approx(ms["requests"], abs=1e-3)
    assert own["layers"] == pytest.approx(ms["layers"] + ms["layers, prompt"], abs=2e-3)
    rest = ("products", "products, prompt", "cache", "attention")
    made = sum(ms[term] for term in rest)
    assert own["reading and computing"] == pytest.approx(made, abs=4e-3)
    assert parts["datasheet"]["layers"] == parts["datasheet"]["requests"] == 0
    words = [64, said["datasheet"], said["book"], own["layers"], said["measured"]]
    assert numbers(pictures.token().sentence) == pytest.approx(words, abs=0.051)


def test_a_column_of_the_points_is_of_the_time_and_the_fit_that_are_chosen() -> None:
    """By the place of each choice in its menu; TTFT of public rows alone."""
    lines = list(csv.DictReader(io.StringIO("\n".join(charts._lines()))))
    for i, kind in enumerate(controls.KINDS.values()):
        for j, left in enumerate(controls.LEFT.values()):
            for line, row, error in zip(
                lines, dense_rows(), row_errors(kind, left), strict=True
            ):
                cell = line[f"e{i}{j}"]
                if kind == "ttft" and not row.public:
                    assert cell == ""
                else:
                    assert charts.STEP * float(cell) == pytest.approx(
                        float(error), abs=2e-3
                    )
            assert {line["p"] for line in lines} <= {"0", "1"}


@pytest.mark.parametrize("kind", ["TPOT", "TTFT"])
def test_readouts_of_the_points_lie_as_their_names_say(kind: str) -> None:
    """Half of the rows are closer than the median; the interval holds the mean."""
    figure = live("how_wrong.residuals")
    (option,) = (o for o in controls.KINDS if controls.KINDS[o] == kind.lower())
    for left, label in controls.LEFT.items():
        known = figure.values(kind=option, left=left)
        own = [abs(each) for each in errors(KINDS[kind], label)]
        assert known["mean_error"] == pytest.approx(fmean(own), abs=0.06)
        assert known["median_error"] == pytest.approx(float(np.median(own)), abs=0.06)
        assert known["mean_low"] < known["mean_error"] < known["mean_high"]
    ladder = live("how_wrong.ladder").values()
    key = "".join(str(int(ladder[name])) for name in controls.TERMS)
    error = ladder[f"{kind.lower()}_error"]
    stored_as = 100 * record()["switches"][key][kind == "TTFT"]
    assert error == pytest.approx(stored_as, abs=0.06)
    assert ladder[f"{kind.lower()}_low"] < error < ladder[f"{kind.lower()}_high"]


def test_a_point_of_the_bench_has_the_ink_of_its_model() -> None:
    """As many as there are rows of it; all together lean as the sentence says."""
    (panel,) = drawn.panels(lambda: playground.picture(achieved()))
    models, clients = (playground.sample().label(a) for a in ("model", "clients"))
    every = list[float]()
    for line in (each for each in panel.lines if each.get_label() in BACK):
        own = models == BACK[line.get_label()]
        assert list(line.get_xdata()) == list(clients[own])
        every += list(map(float, line.get_ydata()))
    said = numbers(playground.picture(achieved()).sentence)
    assert said[:3] == pytest.approx([mean(every), fmean(every), len(models)], abs=0.06)
    assert len(every) == len(models)


def test_the_strip_of_the_points_is_as_wide_as_the_sentence_says() -> None:
    """From four fifths to five quarters."""
    figure = live("how_wrong.residuals")
    said = figure.sentence if isinstance(figure.sentence, str) else str(figure.sentence)
    assert "a factor of 1¼ to either side" in said
    spec = str(figure.spec)
    assert "'1.25'" in spec and "'1 / 1.25'" in spec
