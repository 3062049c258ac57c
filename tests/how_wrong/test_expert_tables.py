"""The blind test of mixtures of experts, as the page tells it."""

from __future__ import annotations

import csv
from collections.abc import Callable

import numpy as np
import pytest

from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.how_wrong.page import expert_tables, trust_picture
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.validation import fifth_trial
from llmserve_lab.validation.blind import TRIALS
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import GOAL, SHAPES, stored_runs
from llmserve_lab.validation.fourth_rows import UNSEEN_SHAPES
from llmserve_lab.validation.fourth_trial import fourth_record
from llmserve_lab.validation.latent_rows import LATENT_SHAPES
from llmserve_lab.validation.rows import vendored
from llmserve_lab.validation.served import PART, seen_rows
from llmserve_lab.validation.served_form import SHARED, walked_layers
from llmserve_lab.validation.third_rows import NEW_SHAPES

LINES = {
    "experts": "expert_rows.csv",
    "second trial": "latent_rows.csv",
    "third trial": "third_rows.csv",
    "fourth trial": "fourth_rows.csv",
    "fifth trial": "fifth_rows.csv",
}
FITTED = [*LINES][:4]  # whose runs the book's constants are fitted to


def _lines(trial: str) -> list[dict[str, str]]:
    return list(csv.DictReader(vendored(LINES[trial]).splitlines()))


def _of(trial: str, sort: str, kept: Callable[[str], bool]) -> np.ndarray:
    """Errors of the record, of those vendored lines whose model is kept."""
    known = {**record(), **fourth_record(), **fifth_trial.fifth_record()}[trial]
    error = known["errors"]["tpot"] if sort == "dense" else known["mended errors"]
    both = zip(error, _lines(trial), strict=True)
    return np.array([each for each, line in both if kept(line["model"])])


def test_the_table_is_counted_again_from_the_errors() -> None:
    """By the vendored tables' own lines, and not by the rows made of them."""
    parts: list[tuple[str, Callable[[str], bool]]] = [
        ("experts", lambda name: True),
        ("second trial", lambda name: True),
        ("third trial", lambda name: name in NEW_SHAPES),
        ("third trial", lambda name: name not in NEW_SHAPES),
        ("fourth trial", lambda name: name in UNSEEN_SHAPES),
        ("fourth trial", lambda name: name not in UNSEEN_SHAPES),
        ("fifth trial", lambda name: name in fifth_trial.NEW_SHAPES),
        ("fifth trial", lambda name: name not in fifth_trial.NEW_SHAPES),
    ]
    rows = expert_tables.experts().rows
    for row, (trial, kept) in zip(rows, parts, strict=True):
        assert str(row[0]).split(":")[0] in ("first", trial.split()[0])
        dense = _of(trial, "dense", kept)
        assert row[1] == str(len(dense))
        assert str(row[2]).startswith(per_cent(float(np.abs(dense).mean())))
        if trial == "experts":
            assert row[3] == "the same"
            continue
        tried = _of(trial, "mended", kept)
        assert str(row[3]).startswith(per_cent(float(np.abs(tried).mean())))
    assert rows[0][1] == str(len(stored_runs()))


def test_no_model_is_new_in_two_trials() -> None:
    earlier = SHAPES, LATENT_SHAPES, NEW_SHAPES, UNSEEN_SHAPES
    names = [{*each} for each in (*earlier, fifth_trial.NEW_SHAPES)]
    assert len(set[str]().union(*names)) == sum(map(len, names))


def test_what_the_text_says_of_the_trials() -> None:
    """The goal is missed five times, mostly too short."""
    means = [
        expert_tables.score("blind", "tpot"),
        expert_tables.tried("mended", "tpot"),
        expert_tables.third("mended"),
        expert_tables.fourth("mended"),
        expert_tables.fifth("mended"),
    ]
    assert all(each["mean"] > GOAL and each["bias"] < 0 for each in means)
    sizes = [each["mean"] for each in means]
    assert expert_tables.span() == (sizes[1], sizes[3]) == (min(sizes), max(sizes))
    trials = ("second trial", LATENT_SHAPES), ("third trial", NEW_SHAPES)
    for trial, new in (*trials, ("fourth trial", UNSEEN_SHAPES)):
        tried, dense = (
            _of(trial, sort, new.__contains__) for sort in ("mended", "dense")
        )
        assert 0.7 < (tried < 0).mean() < 1
        assert np.abs(tried).mean() < np.abs(dense).mean()
    tried = _of("fifth trial", "mended", fifth_trial.NEW_SHAPES.__contains__)
    old, others = expert_tables.without_oldest()
    assert old == pytest.approx(min(tried), abs=1e-3) and old < -0.5
    assert others == pytest.approx(np.abs(tried[tried > min(tried)]).mean(), abs=1e-3)
    assert others < GOAL / 2
    tuned, plain = (
        expert_tables.third("mended", name) for name in ("InferenceX", "cookbook")
    )
    assert tuned["mean"] < GOAL / 1.25 and plain["mean"] > 2 * GOAL


def test_what_the_text_says_of_the_form_that_the_book_uses() -> None:
    """The left-out error is that of the errors' own list, of all four trials' runs.

    What to expect of a new model is below the goal only on servers like InferenceX's.
    """
    known = record()[PART]
    shown = expert_tables.served()["mean"]
    error = np.abs(np.array(known["errors"]["tpot"]))
    assert len(error) == sum(len(_lines(trial)) for trial in FITTED)
    earlier = len(error) - len(_lines("fourth trial"))
    dense = np.concatenate([record()[trial]["errors"]["tpot"] for trial in TRIALS])
    assert shown == pytest.approx(error.mean(), rel=1e-3)
    assert error[:earlier].mean() < GOAL < np.abs(dense).mean()
    tuned, plain = (
        expert_tables.third("mended", name)["mean"]
        for name in ("InferenceX", "cookbook")
    )
    assert tuned < shown < GOAL < expert_tables.third("mended")["mean"]
    assert GOAL < expert_tables.fourth("mended")["mean"] < plain
    assert "all 1,324 runs" in known["status"]


def test_what_the_text_says_of_what_is_new_in_both_ways() -> None:
    """A mean over models of sources, in which the most runs are one of many."""
    cells = record()[PART]["model and source left out"]
    sums = sum(each["n"] * each["mean"] for each in cells.values())
    by_runs = sums / sum(each["n"] for each in cells.values())
    shown = expert_tables.new_to_both()
    mean = sum(each["mean"] for each in cells.values()) / len(cells)
    assert shown == pytest.approx(mean)
    assert by_runs < shown < GOAL


def test_what_the_text_says_of_bands_made_without_the_fourth_trial() -> None:
    """Whole runs of the vendored table, all of them in one share."""
    for kind in ("tpot", "e2e"):
        runs, share = expert_tables.held(kind)
        assert runs == len(_lines("fourth trial"))
        assert share * runs == pytest.approx(round(share * runs), abs=0.01)


def test_what_the_text_says_of_long_contexts() -> None:
    """Twelve heads and more share a KV head in all models that pay for it in vLLM."""
    walked = {
        row.model: row.shape.attention
        for row in seen_rows()
        if walked_layers(row.shape, row.engine)
    }
    assert all(isinstance(x, GroupedQueryAttention) for x in walked.values())
    assert "zai-org/GLM-4.6" in walked and "openai/gpt-oss-120b" not in walked
    assert {*UNSEEN_SHAPES} & {*walked} and SHARED == 8


def test_what_the_text_says_of_the_cookbook() -> None:
    """Nearly all too short; few servers cut experts whole, which is no default."""
    lines = _lines("third trial")
    errors = record()["third trial"]["mended errors"]
    own = [
        (each, line)
        for each, line in zip(errors, lines, strict=True)
        if line["source"] == "cookbook"
    ]
    assert np.mean([each < 0 for each, _ in own]) > 0.9
    cut = [line["model"] for _, line in own if line["ep"] != "1"]
    assert {*cut} == {"MiniMaxAI/MiniMax-M2.5"} and len(cut) < len(own) / 10
    one, other = (
        [line["tpot_ms"] for _, line in own if name in line["model"]]
        for name in ("K2.5", "K2.6")
    )
    assert one == other  # the same figures on two pages


def test_the_page_says_how_mixtures_came_out() -> None:
    """The text gives the second and the fourth trial, the least and the most of all."""
    ends = (expert_tables.tried("mended", "tpot"), expert_tables.fourth("mended"))
    assert [each["mean"] for each in ends] == [*expert_tables.span()]
    drawn = trust_picture.blind_means()
    trials = [drawn[f"mixtures, TPOT, {name} trial"] for name in ("best", "worst")]
    assert trials == [100 * each for each in expert_tables.span()]
    assert expert_tables.fifth("dense")["mean"] < expert_tables.fifth("mended")["mean"]
