"""Each column of the chapter's tables holds what its heading says, row by row.

Errors are worked out anew from the rows and their stored errors, row by row.
"""

import re
from collections.abc import Callable
from statistics import fmean, median

import pytest

from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.predictions import points
from llmserve_lab.how_wrong import example
from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.page import other_tables, tables
from llmserve_lab.how_wrong.record import record, row_errors
from llmserve_lab.validation import MeasuredRow, dense_rows
from llmserve_lab.validation.cache_blocks import predicted, reserve
from tests.each import agrees, rows, stored
from tests.how_wrong.anew import KINDS, between, errors, first, mean, servers

ALIKE = ("model", "system", "precision", "tp", "prompt_len", "output_len", "clients")


def test_rows_alike_but_for_the_engine_are_compared_by_the_time_of_their_column() -> (
    None
):
    by: dict[tuple[object, ...], dict[str, MeasuredRow]] = {}
    for row in dense_rows():
        by.setdefault(tuple(getattr(row, a) for a in ALIKE), {})[row.engine] = row
    for line, other in zip(
        rows(other_tables.seesaw()), ("sglang", "trtllm"), strict=True
    ):
        both = [each for each in by.values() if {"vllm", other} <= set(each)]
        assert line["engines"] == f"{NAMES[other]} / vLLM"
        assert int(line["pairs"]) == len(both)
        times: dict[str, Callable[[MeasuredRow], float]] = {
            "TTFT": lambda row: row.ttft_s,
            "TPOT": lambda row: row.tpot_s,
            "answer": lambda row: row.ttft_s + row.tpot_s * (row.output_len - 1),
        }
        assert set(line) == {"engines", "pairs", *times}
        for head, time in times.items():
            ratio = median(time(each[other]) / time(each["vllm"]) for each in both)
            assert first(line[head]) == pytest.approx(ratio, abs=0.0051)


def seconds(cell: str) -> float:
    return first(cell) * {"ms": 1e-3, "s": 1.0}[cell.split()[-1]]


def test_with_room_in_the_cache_its_end_is_not_seen_and_without_it_is() -> None:
    """Measured as it was recorded; an endless cache never makes a request wait."""
    full = 0
    for line in stored("how_wrong", "TTFT of Llama-3.1-70B"):
        measured, made, endless = (
            seconds(line[h]) for h in ("measured", "predicted", "endless")
        )
        (row,) = (r for r in dense_rows() if r.clients == int(line["clients"])
                  and (r.model, r.system, r.engine, r.precision, r.tp, r.prompt_len,
                       r.output_len) == ("llama-3-70b", "h200-sxm", "trtllm", "fp8", 1,
                                         1024, 8192))  # fmt: skip
        assert measured == pytest.approx(row.ttft_s, rel=6e-3)
        assert endless < 2 and (made == endless) == (measured < 2)
        full += measured > 2
    assert full == 2


def test_a_forgotten_line_has_both_errors_of_its_record() -> None:
    shown = rows(other_tables.script())
    whole = shown[0]
    for head, kind in KINDS.items():
        own = [e for e, r in zip(row_errors(kind, "nothing"), dense_rows(), strict=True)
               if r.public]  # fmt: skip
        assert first(whole[head]) == pytest.approx(
            mean([100 * e for e in own]), abs=0.051
        )
    for line in shown:
        tpot, ttft, *_ = record()["script"][line["line"]]
        assert first(line["TPOT"]) == pytest.approx(100 * tpot, abs=0.051)
        assert first(line["TTFT"]) == pytest.approx(100 * ttft, abs=0.051)
        assert between(line["TPOT"]) and between(line["TTFT"])
        assert bool(line["assumed in its place"]) == (line is not whole)


def test_a_server_that_reserves_more_than_the_others_is_predicted_too_many_blocks() -> (
    None
):
    *lines, last = rows(other_tables.blocks())
    known = {(float(c.blocks), float(c.budget)): c for c in BLOCK_COUNTS}
    for line in lines:
        own = known[first(line["published"]), first(line["token budget"])]
        assert f"{own.model.name}, {own.tp} × " in line["server, 16 bits"]
        assert agrees(line["its reserve"][:-3], reserve(own) / 1e9)
        others = fmean(
            reserve(c) / 1e9 for c in BLOCK_COUNTS if c.model is not own.model
        )
        more = first(line["its reserve"]) - others
        if abs(more) > 0.1:
            assert (first(line["predicted"]) > first(line["published"])) == (more > 0)
    assert last["error"].startswith(f"{mean([100 * e.error for e in predicted()]):.2f}")


def test_what_else_is_predicted_has_its_runs_its_error_and_its_bias() -> None:
    shown = stored("how_wrong", "Other predictions")
    rates = points(book_assumptions())
    for line in shown:
        assert between(line["error"])
        if line["bias"] != "–":
            assert abs(first(line["bias"])) <= first(line["error"])
        if "tokens per second" in line["prediction"]:
            status = {"in-sample": "calibrated"}.get(line["kind"], line["kind"])
            own = [100 * each.error for each in rates if each.status == status]
            assert first(line["beside"]) == len(own)
            assert agrees(line["error"], mean(own))
            assert first(line["bias"]) == pytest.approx(fmean(own), abs=0.051)
    printed, ours = (line for line in shown if line["prediction"].startswith("AFD"))
    assert "paper prints" in printed["prediction"] and "corrected" in ours["prediction"]
    assert first(printed["error"]) > 10 * first(ours["error"])
    assert {printed["kind"], ours["kind"]} == {"simulated"}


def test_a_combination_has_the_error_of_its_own_rows() -> None:
    back = {name: key for key, name in NAMES.items()}
    for line in rows(other_tables.combinations()):
        if size := re.fullmatch(r"all with (\d+) (GPU|client)s?", line["model"]):
            of: dict[str, object] = {
                "tp" if size[2] == "GPU" else "clients": int(size[1])
            }
        else:
            cells = (line["model"], line["GPU"], line["engine"])
            of = dict(
                zip(("model", "system", "engine"), map(back.get, cells), strict=True)
            )
        own = errors("tpot", "model", **of)
        assert int(line["rows"]) == len(own) > 0
        assert int(line["servers"]) == servers(**of)
        assert first(line["error"]) == pytest.approx(mean(own), abs=0.051)


def test_the_last_lines_of_the_example_are_of_the_columns_above_them() -> None:
    *lines, size, lean = rows(tables.by_hand())
    true = example.measured_ms()
    for line in lines:
        assert agrees(line["measured"], true[int(line["clients"])])
    assert (size["clients"], lean["clients"]) == ("mean error", "bias")
    for head in ("its error", "datasheet"):
        column = [first(line[head]) for line in lines]
        assert first(size[head]) == pytest.approx(mean(column), abs=0.006)
        assert first(lean[head]) == pytest.approx(fmean(column), abs=0.006)
    book = [first(line["its error"]) for line in lines]
    assert all(
        b > first(line["datasheet"]) for b, line in zip(book, lines, strict=True)
    )


def test_a_group_left_out_has_its_rows_its_servers_its_error_and_its_bias() -> None:
    back = {name: key for key, name in NAMES.items()}
    *lines, prompts, answers, alike = rows(tables.groups())
    assert [prompts["left out"], answers["left out"]] == [
        "long prompts",
        "long answers",
    ]
    for line, (low, high) in zip(
        (prompts, answers, alike), ((4, 64), (0, 0.25), (0.26, 3.9)), strict=True
    ):
        error = [
            100 * float(each)
            for each, row in zip(row_errors("tpot", "model"), dense_rows(), strict=True)
            if low <= row.prompt_len / row.output_len <= high
        ]
        assert int(line["rows"]) == len(error) > 100
        assert first(line["mean error"]) == pytest.approx(mean(error), abs=0.051)
        assert first(line["bias"]) == pytest.approx(fmean(error), abs=0.051)
    for line in lines:
        whole = re.fullmatch(r"all, (\w+) by \w+", line["left out"])
        key = back.get(line["left out"], "")
        by = (
            whole[1]
            if whole
            else "model"
            if key in {r.model for r in dense_rows()}
            else "engine"
        )
        of = {} if whole else {by: key}
        own = errors("tpot", by, **of)
        assert int(line["rows"]) == len(own)
        assert int(line["servers"]) == servers(**of)
        assert first(line["mean error"]) == pytest.approx(mean(own), abs=0.051)
        assert first(line["bias"]) == pytest.approx(fmean(own), abs=0.051)
        assert between(line["mean error"])
