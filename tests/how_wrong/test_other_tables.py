"""Tables of memory, scripts, forms and other predictions say what is recorded."""

from __future__ import annotations

import numpy as np
import pytest

from llmserve_lab.afd.experiments.random_settings import compare, off_by
from llmserve_lab.catalog.evidence.blind_decode_runs import BLIND_RUNS
from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS
from llmserve_lab.deepseek.evaluation import blind_runs
from llmserve_lab.engine import Chunked
from llmserve_lab.how_wrong.page import other_tables, twin_blind
from llmserve_lab.how_wrong.record import (
    record,
    validated,
)
from llmserve_lab.how_wrong.script import with_all_slots
from llmserve_lab.validation import dense_rows
from llmserve_lab.validation.cache_blocks import predicted, reserve, room
from llmserve_lab.validation.protocol import protocol_of


def test_published_block_counts_are_predicted_within_two_per_cent() -> None:
    sizes = [abs(each.error) for each in predicted()]
    assert max(sizes) < 0.02 and sum(sizes) / len(sizes) < 0.006
    for each in BLOCK_COUNTS:  # its own reserve gives the count back
        found = room(each).kv_blocks(reserved_bytes=reserve(each))
        assert abs(found - float(each.blocks)) <= 1
    with pytest.raises(ValueError, match="counts must be of two models"):
        predicted(BLOCK_COUNTS[1:3])


def test_the_twin_is_scored_apart_and_nothing_is_blind_without_being_so() -> None:
    """Blind are only the runs that were opened when nothing could be changed."""
    blind = [key for key in other_tables.twin_scores() if key[1] == "blind"]
    assert blind == [(other_tables.STEPS, "blind")]
    assert other_tables.twin_scores()[blind[0]].n_runs == len(BLIND_RUNS)
    rows = {tuple(map(str, row[1:3])): row for row in other_tables.elsewhere().rows}
    row = rows["blind", f"{len(BLIND_RUNS)} runs"]
    assert str(row[3]).startswith("14.1") and str(row[4]) == "+3.3\N{NO-BREAK SPACE}%"


def test_what_the_page_says_of_the_twin_s_blind_steps() -> None:
    blind = twin_blind.score()
    fitted = other_tables.twin_scores()[other_tables.STEPS, "calibrated"]
    assert blind.mean_error <= twin_blind.GOAL and fitted.mean_error < blind.mean_error
    assert abs(blind.bias) <= twin_blind.GOAL_BIAS
    h100 = twin_blind.on("H100")
    assert h100.n_runs == 2 and h100.bias == -h100.mean_error < -0.19
    fewest = min(blind_runs.blind(), key=lambda each: each.run.requests_per_gpu)
    assert fewest.error == blind.worst > 0.7


def test_an_error_has_an_interval_where_there_are_enough_runs() -> None:
    cells = {row[1:3]: str(row[3]) for row in other_tables.elsewhere().rows}
    for (_, status), has in other_tables.twin_scores().items():
        kind = "in-sample" if status == "calibrated" else status
        shown = cells[kind, f"{has.n_runs} runs"]
        assert ("(" in shown) == (has.n_runs >= 10)
    for sizes in record()["afd"]["rules"].values():
        assert sizes["median, low"] < sizes["median"] < sizes["median, high"]


def test_the_corrected_rule_beats_the_printed_one_on_bundles_drawn_anew() -> None:
    """The record's sentence, found again on other bundles than the record's."""
    found = [compare(number=n, n_batches=2, n_requests=300) for n in (31, 33)]
    ours, papers = (
        max(float(np.abs(answer[whose]).max()) for answer in found)
        for whose in ("ours", "paper")
    )
    assert ours < 0.03 < papers
    assert off_by(found, "ours") == 0
    rules = record()["afd"]["rules"]
    assert rules["our rule"]["worst"] < 0.03
    medians = {name: sizes["median"] for name, sizes in rules.items()}
    wanted = {"the paper's form": 0.0240, "our rule": 0.0009}
    assert medians == pytest.approx(wanted, abs=5e-5)


def test_a_missing_slot_shows_in_the_first_token() -> None:
    few, every = record()["slots"]["one fewer"], record()["slots"]["all"]
    assert abs(few[1]) < 0.1 and every[1] < -0.3 and few[0] < every[0]
    rows = [row for row in dense_rows() if row.model == "llama-3-8b"][:2]
    for row in rows:
        own, every_one = protocol_of(row).policy, with_all_slots(row).policy
        assert isinstance(own, Chunked) and isinstance(every_one, Chunked)
        assert (own.max_batch, every_one.max_batch) == (row.clients - 1, row.clients)
    other = next(row for row in dense_rows() if row.engine == "sglang")
    with pytest.raises(TypeError, match="served in chunks"):
        with_all_slots(other)


def test_the_errors_of_another_form_stand_under_their_own_heading() -> None:
    """What was left out, and of which time, is read off the stored record."""
    table, found = other_tables.forms(), validated()["forms"]
    keys = {"TPOT, model": "tpot, model", "TPOT, engine": "tpot, engine",
            "TTFT, model": "ttft, model"}  # fmt: skip
    for place, head in enumerate(table.columns[1:], start=1):
        key = next(key for words, key in keys.items() if head.startswith(words))
        shown = [
            float(str(row[place]).split("\N{NO-BREAK SPACE}")[0]) for row in table.rows
        ]
        stored = [100 * found[name][key] for name in other_tables.FORMS]
        assert shown == pytest.approx(stored, abs=0.051)


def test_a_server_listed_twice_has_two_token_budgets() -> None:
    """The note under the counts, and what the text says of the reserve."""
    budgets = dict[tuple[str, int], list[int]]()
    sizes = dict[str, dict[int, float]]()
    for each in predicted():
        key = (each.record.model.key, each.record.tp)
        budgets.setdefault(key, []).append(each.record.budget)
        own = sizes.setdefault(each.record.model.key, {})
        own[each.record.budget] = reserve(each.record) / 1e9
    assert any(len(each) > 1 for each in budgets.values())
    assert all(len(each) == len(set(each)) for each in budgets.values())
    few, many = (sizes["llama-3-70b"][budget] for budget in (2048, 8192))
    assert many > few + 0.2
    qwen = sizes["qwen2.5-7b"].values()
    assert len(qwen) == 2 and max(qwen) - min(qwen) < 0.02
