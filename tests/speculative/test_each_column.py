"""Every column and row of the chapter's tables, from records, prices and its notes.

Each head here has its own number, and each row that of its own name.
"""

import re
from collections.abc import Callable
from math import prod
from typing import Any

import pytest

from llmserve_lab.catalog.evidence.speculation import (
    BATCH_RUNS,
    CURVES,
    EAGLE_CURVES,
    HEAD_RUNS,
    TEXT_CURVES,
)
from llmserve_lab.engine import Acceptance
from llmserve_lab.page.table import Table
from llmserve_lab.speculative import machine as m
from llmserve_lab.speculative.page import tables

Row = dict[str, str]


def rows(table: Table) -> list[Row]:
    heads = [str(head) for head in table.columns]
    return [dict(zip(heads, map(str, row), strict=True)) for row in table.rows]


def price(note: str, words: str) -> float:
    """The number after some words of a note."""
    (found,) = re.findall(rf"{words} ([\d.,]+)", note)
    return float(found.rstrip(".").replace(",", ""))


def test_each_part_of_a_pass_follows_from_the_prices_in_the_note() -> None:
    """In milliseconds; a draft is a pass of one row a request, without the CPU."""
    table = tables.pass_parts()
    target, draft = map(str, table.notes)
    held = int(re.findall(r"([\d,]+) tokens in the cache", target)[0].replace(",", ""))
    cpu, pair = price(target, "the CPU") / 1e3, price(target, "pair") / 1e6
    (layers,) = re.findall(r"starting \d+ layers, ([\d.]+)", target)
    for head in map(str, table.columns[1:]):
        batch = int(re.findall(r"B=(\d+)", head)[0])
        drafts = int((re.findall(r"γ=(\d+)", head) or ["0"])[0])
        small, n = "draft" in head, batch * (drafts + 1)
        note = draft if small else target
        (weights,) = re.findall(r"weights(?:, [\d.]+ GB,)? ([\d.]+) ms", note)
        (count,) = re.findall(r"(\d+) layers", note)
        read, compute = float(weights), n * price(note, "a row")
        pairs = batch * sum(held + 1 + i for i in range(drafts + 1))
        want = {
            "rows": n,
            "weights or computing: the longer": max(read, compute),
            "of the shorter: what is not hidden": min(read, compute) / 2,
            "reading the cache": batch * held * price(note, "token of cache") / 1e3,
            "starting the layers": int(count) * float(layers) / 1e3,
            "CPU, for each request": 0 if small else batch * cpu,
        }
        if not small:
            want["attention's arithmetic"] = pairs * pair
        for row in rows(table):
            name, value = row["part"], float(row[head])
            if name in want:
                assert value == pytest.approx(want[name], rel=2e-3, abs=2e-3), name
            else:
                assert name in ("in all (ms)", "attention's arithmetic")


def test_the_cost_of_a_draft_and_the_chances_are_those_of_their_heads() -> None:
    """By the whole passes of the other table; in pairs of columns by their chance."""
    (whole,) = (r for r in rows(tables.pass_parts()) if r["part"].startswith("in all"))
    table = tables.best_drafts()
    heads = [str(head) for head in table.columns]
    for row in table.rows:
        at = f"B={row[0]}"
        if f"{at}, γ=0" in whole:
            ratio = float(whole[f"draft, {at}"]) / float(whole[f"{at}, γ=0"])
            assert float(str(row[1])) == pytest.approx(ratio, abs=0.006)
    assert heads[:2] == ["batch", "draft cost"]
    for place in range(2, len(heads), 2):
        rate = price(heads[place], "α =")
        assert "best" in heads[place] and heads[place + 1] == "with eight"
        law = Acceptance(rate, m.usual().falls)
        for row in table.rows:
            batch = int(str(row[0]))
            every = {k: m.speedup(batch, k, law, m.SMALL) for k in range(1, 9)}
            best = max(every, key=lambda k: every[k])
            assert row[place] == f"{every[best]:.2f} ({best})"
            assert row[place + 1] == f"{every[8]:.2f}"


def percent(one: str, other: str) -> Callable[[Row], float]:
    """By how much the one column is more than the other, in percent."""

    def off(row: Row) -> float:
        a, b = (float(row[each].split()[0]) for each in (one, other))
        return 100 * (a / b - 1)

    return off


@pytest.mark.parametrize("made", [tables.batches, tables.heads])
def test_what_is_off_is_the_prediction_over_the_measurement(made: Any) -> None:
    for row in rows(made()):
        off = float(row["off by"].rstrip("%").replace("−", "-"))
        assert off == pytest.approx(percent("predicted", "measured")(row), abs=1.0)


def test_each_speedup_is_that_of_its_task_and_batch() -> None:
    runs = {run.task: run for run in BATCH_RUNS}
    kept = {curve.name: curve.tokens[2] for curve in EAGLE_CURVES}
    found = set()
    for row in rows(tables.batches()):
        task, batch = row["task, batch"].rsplit(", ", 1)
        assert row["measured"] == f"{runs[task].gains[int(batch)]:.2f}"
        assert row["tokens of a pass"] == f"{kept[task]:.2f}"
        found.add((task, int(batch)))
    assert found == {(run.task, batch) for run in BATCH_RUNS for batch in run.gains}


def test_each_time_is_that_of_its_head_and_its_drafts() -> None:
    """A round over the tokens that it yields."""
    runs = {run.name: run for run in HEAD_RUNS}
    sources = {"EAGLE": m.HEAD, "EAGLE-3": m.HEAD_3}
    for row in rows(tables.heads()):
        name, drafts = row["head, drafts"].rsplit(", ", 1)
        run, count = runs[name], int(drafts)
        tokens = run.tokens[count]
        round_ms = 1e3 * m.round_s(1, count, sources[name])
        assert row["tokens of a pass"] == f"{tokens:.2f}"
        assert row["measured"] == f"{run.tpot_ms[count]:.2f} ms"
        assert row["predicted"] == f"{round_ms / tokens:.2f} ms"


# The task that a column of tokens is of, as the note names them.
ASKED = {
    "tokens: chats": "ShareGPT",
    "summaries": "CNN/DailyMail",
    "code edits": "InstructCoder",
}


def test_each_source_has_the_tokens_of_the_task_above_them() -> None:
    table = tables.sources()
    found = {row["source"]: row for row in rows(table)}
    order = ", ".join(ASKED.values())
    assert order in str(table.notes[0])  # and in the order of the columns
    heads = [str(head) for head in table.columns]
    assert [head for head in heads if head in ASKED] == list(ASKED)
    for source, curves in {"EAGLE": EAGLE_CURVES, "text": TEXT_CURVES}.items():
        by_task = {curve.name: curve.tokens[2] for curve in curves}
        for head, task in ASKED.items():
            assert found[source][head] == f"{by_task[task]:.2f}", (source, head)
    unnamed = {run.name: f"{run.tokens[3]:.2f}" for run in HEAD_RUNS}
    assert {s: r["task unnamed"] for s, r in found.items()} == {
        **dict.fromkeys(found, "–"),
        **unnamed,
    }
    names = {"Llama-3.2-1B": m.SMALL, "EAGLE": m.HEAD, "EAGLE-3": m.HEAD_3}
    for source, row in found.items():
        which = names.get(source, m.LOOKUP)
        more = (m.round_s(1, 7, which) - m.round_s(1, 2, which)) / 5
        assert row["ms, predicted"] == f"{1e3 * more:.2f}"
    for name, run in ((run.name, run) for run in HEAD_RUNS):
        spent = {k: run.tokens[k] * run.tpot_ms[k] for k in run.tokens}
        middle = sum(spent) / len(spent)
        slope = sum((k - middle) * ms for k, ms in spent.items()) / sum(
            (k - middle) ** 2 for k in spent
        )
        assert found[name]["ms, measured"] == f"{slope:.2f}"


def kept(alpha: float, falls: float, drafts: int) -> float:
    """Tokens of a pass if each chance to keep is so many times the one before."""
    chances = [alpha * falls**i for i in range(drafts)]
    return 1 + sum(prod(chances[: i + 1]) for i in range(drafts))


def test_each_law_is_off_by_what_its_head_says() -> None:
    curves = {curve.name: curve.tokens for curve in CURVES}
    for row in rows(tables.laws()):
        tokens = curves.pop(row["model, drafts"])
        alpha, falls = tokens[0] - 1, float(row["r"])
        assert row["α"] == f"{alpha:.2f}"
        assert kept(alpha, falls, 4) == pytest.approx(tokens[3], abs=0.01)  # as fitted
        assert row["tokens, 8 drafts"] == f"{tokens[7]:.2f}"
        flat, falling = (
            [100 * (kept(alpha, r, k) / tokens[k - 1] - 1) for k in range(1, 9)]
            for r in (1.0, falls)
        )
        shown = {head: float(row[head].rstrip("%")) for head in list(row)[4:]}
        worst = shown.pop("falling, worst")
        assert shown["constant, at 8"] == pytest.approx(flat[-1], abs=0.52)
        assert shown["falling, at 8"] == pytest.approx(falling[-1], abs=0.4)
        assert set(shown) == {"constant, at 8", "falling, at 8"}
        assert abs(worst) == pytest.approx(max(map(abs, falling)), abs=0.4)
        assert any(worst == pytest.approx(each, abs=0.4) for each in falling)
    assert not curves
