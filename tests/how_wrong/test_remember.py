"""The five sentences that a reader keeps, found again from the rows by other means."""

from __future__ import annotations

import csv
from itertools import pairwise
from statistics import mean, median

import numpy as np
import pytest

from llmserve_lab.how_wrong import pairs
from llmserve_lab.how_wrong.page import dense_blind
from llmserve_lab.how_wrong.page.figures import steps
from llmserve_lab.how_wrong.record import mean_error, record, row_errors
from llmserve_lab.validation import DATASHEET, achieved, dense_rows, score
from llmserve_lab.validation.constants import record as validated
from llmserve_lab.validation.dense_trial import trial_record
from llmserve_lab.validation.rows import vendored
from llmserve_lab.validation.terms import without
from tests.each import numbers
from tests.page.test_takeaways import sentences
from tests.validation.sample import sample


def lines() -> list[dict[str, str]]:
    """The vendored table as it is written, without the package's own rows."""
    return list(csv.DictReader(vendored("dense_rows.csv").splitlines()))


def test_a_model_left_out_is_predicted_a_little_worse_than_one_seen() -> None:
    left, seen = mean_error("tpot", "model"), mean_error("tpot", "nothing")
    assert seen < left < 0.085
    assert left == pytest.approx(validated()["scores"]["model"]["tpot"]["mean"], 1e-3)
    in_sample = validated()["scores"]["in sample"]["tpot"]["mean"]
    assert seen == pytest.approx(in_sample, 1e-3)


def test_dense_models_came_out_too_short_blind() -> None:
    """Every run, and four times as wrong as cross-validated; no nearer by one factor.

    Counted from the vendored lines and the errors alone.
    """
    known = trial_record()
    table = list(csv.DictReader(vendored("dense_trial_rows.csv").splitlines()))
    book, factor = (np.array(known["errors"][n]) for n in ("book", "one factor"))
    assert len(book) == len(table) and (book < 0).all()
    assert np.abs(book).mean() > 4 * mean_error("e2e", "model")
    assert np.abs(factor).mean() < np.abs(book).mean()
    assert dense_blind.score()["mean"] == pytest.approx(np.abs(book).mean(), rel=1e-3)
    servers = {(*(line[n] for n in ("model", "system", "engine", "precision", "tp")),)
               for line in table}  # fmt: skip
    assert dense_blind.servers() == len(servers)
    n, share = dense_blind.held_share()
    limits = dense_blind.score(group=dense_blind.WITH_BAND)
    assert n == limits["n"] and share < 0.2 and limits["mean"] > dense_blind.GOAL


def test_the_datasheet_promises_too_much_on_every_row() -> None:
    error = row_errors("tpot", "datasheet")
    assert (error < 0).all() and np.abs(error).mean() > 0.5
    found = sample().predict(DATASHEET).tpot / sample().measured.tpot - 1
    assert (found < 0).all()


def test_the_time_per_layer_is_the_largest_missing_term() -> None:
    drops = {after[0]: before[1] - after[1] for before, after in pairwise(steps())}
    assert max(drops, key=lambda name: drops[name]) == "+ time per layer"
    worse = {
        rung: score(sample(), sample().predict(without(achieved(), rung)), "tpot").mean
        for rung in ("time per layer", "share of the link", "time per request")
    }
    assert max(worse, key=lambda name: worse[name]) == "time per layer"


@pytest.mark.parametrize("left", ["model", "system", "engine", "nothing"])
def test_the_first_token_is_predicted_worse(left: str) -> None:
    assert mean_error("ttft", left) > 1.5 * mean_error("tpot", left)


def test_a_scheduler_moves_prefill() -> None:
    alike = ("model", "system", "precision", "tp", "isl", "osl", "clients")
    table = {(*(row[k] for k in alike), row["engine"]): row for row in lines()}
    found = []
    for (*key, engine), row in table.items():
        other = table.get((*key, "vllm"))
        if engine == "sglang" and other is not None:
            times = [
                (float(r["ttft_ms"]), float(r["tpot_ms"]), int(r["osl"]) - 1)
                for r in (other, row)
            ]
            (a, b, n), (c, d, _) = times
            found.append((c / a, d / b, (c + n * d) / (a + n * b)))
    ttft, tpot, e2e = (median(column) for column in zip(*found, strict=True))
    printed = pairs.ratios(pairs.pairs("vllm", "sglang"))
    assert printed.n == len(found)
    assert (printed.ttft, printed.tpot) == pytest.approx((ttft, tpot))
    assert printed.e2e == pytest.approx(e2e)
    assert ttft > 3 and tpot < 0.8 and 0.9 < e2e < 1.1


def test_the_first_token_jumps_where_the_cache_ends() -> None:
    rows = pairs.fullest()
    room = pairs.cache_requests(rows[0])
    (below,) = [i for i in range(5) if rows[i].clients < room < rows[i + 1].clients]
    assert below == 3  # the page speaks of these two
    assert rows[4].ttft_s > 100 * rows[3].ttft_s
    free = pairs.endless(rows)
    assert rows[4].ttft_s > 100 * free[4] and free[3] < 2 * rows[3].ttft_s
    tpot = rows[4].tpot_s / rows[3].tpot_s
    assert 1 < tpot < 1.2  # "by a tenth or so"
    found = zip(dense_rows(), row_errors("ttft", "model"), strict=True)
    error = {id(row): float(each) for row, each in found}
    assert all(abs(error[id(row)]) < 0.15 for row in rows[3:])


def test_each_time_has_its_own_largest_step() -> None:
    """TPOT owes most to the time per layer, TTFT to the shares of the peaks."""
    bars = [each[:3] for each in validated()["ladder"]]
    steps = [
        (name, tpot - after_tpot, ttft - after_ttft)
        for (_, tpot, ttft), (name, after_tpot, after_ttft) in pairwise(bars)
    ]
    first, *_ = bars
    assert max(steps, key=lambda step: step[1])[0] == "time per layer"
    assert max(step[1] for step in steps) > first[1] / 2
    assert max(steps, key=lambda step: step[2]) == steps[0]


def test_chance_does_far_worse() -> None:
    assert mean(validated()["permuted"]) > 4 * mean_error("tpot", "model")


def test_leaving_out_an_engine_costs_most() -> None:
    found = {by: mean_error("tpot", by) for by in ("model", "system", "engine")}
    assert max(found, key=lambda by: found[by]) == "engine"
    without_trt, without_vllm = (
        record()["folds"]["engine"][name]["layer_s"] for name in ("trtllm", "vllm")
    )
    assert without_trt > achieved().layer_s > without_vllm


def test_forgotten_lines_spoil_the_first_token() -> None:
    as_run, *forgotten = record()["script"].values()
    assert len(forgotten) == 3
    for tpot, ttft, *_ in forgotten:
        assert ttft > 1.2 * as_run[1]
        assert tpot < 1.3 * as_run[0]


def test_first_tokens_are_scored_on_one_model_and_so_only_seen() -> None:
    assert {row["model"] for row in lines() if row["protocol"] == "public"} == {
        "meta-llama/Llama-3.1-70B"
    }


def test_bands_hold_less_than_meant_of_some_that_did_not_make_them() -> None:
    """Of single names by kind of time, as the page says: from the records alone."""
    rows, found = dense_rows(), list[float]()
    alone: dict[str, list[float]] = {"tpot": [], "ttft": []}
    for by in ("engine", "model", "system"):
        for kind in ("tpot", "ttft"):
            held = {
                name: both[kind][1]
                for name, both in record()["nested"][by].items()
                if kind in both
            }
            own = [
                held[getattr(row, by)]
                for row in rows
                if getattr(row, by) in held and (kind == "tpot" or row.public)
            ]
            found += [mean(own)] if own else []
            alone[kind] += held.values()
    (said,) = (each for each in sentences("how_wrong") if "A band must" in each)
    kept = [each for each in trial_record()["held"] if each is not None]
    assert numbers(said.split("held", 1)[1]) == [
        *(round(100 * each(of)) for of in alone.values() for each in (min, max)),
        round(100 * mean(kept)),
    ]
    assert min(found) < 0.8 < 0.9 < max(found)
