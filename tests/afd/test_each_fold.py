"""Tables of the chapter's folds: each cell is what its row and its heading say.

Stored cells are read, because the runs behind them take long, and held against each
other by what the headings, the captions and the paper's coefficients say.
"""

from functools import partial
from itertools import pairwise
from math import sqrt

import pytest

from llmserve_lab.afd.page.controls import LABELS
from llmserve_lab.afd.simulation.bundle import ascend
from tests.each import agrees, numbers, stored
from tests.page.records import CHAPTERS
from tests.page.test_recomputed import compared

of = partial(stored, "attention_ffn")
THETA = 600  # tokens in a slot: prompts of 100, geometric answers of 500


def first(cell: str) -> float:
    return numbers(cell)[0]


def fitted() -> dict[str, float]:
    return {
        row["code name"]: float(row["fitted"]) for row in of("Coefficients of Ascend")
    }


def test_each_coefficient_has_its_name_its_unit_and_what_it_is_paid_for() -> None:
    """Attention is paid for tokens, the others for requests; what is fixed for none."""
    words = {"attn": "Attention", "ffn": "FFN", "comm": "Wire"}
    shown = of("Coefficients of Ascend")
    assert {row["code name"] for row in shown} == set(ascend())
    for row in shown:
        name = row["code name"]
        slope, kind = name.split("_")
        each = {"attn": "token"}.get(kind, "request")
        assert row["unit"] == (f"cycle/{each}" if slope == "a" else "cycle")
        for said in (row["time"], LABELS[name]):  # of the bench's knobs, too
            assert said.startswith("Round trip" if name == "b_comm" else words[kind])
            assert said.endswith(f"per {each}" if slope == "a" else "fixed")
        assert agrees(row["fitted"], 1e6 * ascend()[name])


def test_each_ratio_of_the_recipe_follows_from_the_coefficients() -> None:
    """Of two batches, as the last table prints them; the largest of three is best."""
    (path,) = (path for path in CHAPTERS if path.stem == "attention_ffn")
    recipes = [t for t in compared(path) if t.caption.startswith("The paper's recipe")]
    c, best = fitted(), of("Best ratios of the AFD paper")
    for table, batch in zip(recipes, (512, 256), strict=True):
        a_ffn = c["a_ffn"] * batch
        busy = c["a_attn"] * batch * THETA + c["b_attn"] - c["b_ffn"]
        wire = c["a_comm"] * batch + c["b_comm"] - c["b_ffn"]
        want = {
            "Attention and FFN balance, r_A": busy / a_ffn,
            "wire and FFN balance, r_C": wire / a_ffn,
            "FFN alone, r_peak": sqrt(c["b_ffn"] / a_ffn),
        }
        want["best, r*"] = max(want.values())
        assert [name for name, _ in table.rows] == [*want]
        for name, cell in table.rows:
            assert float(cell) == pytest.approx(want[name], abs=0.006), name
        assert table.caption.endswith("Attention decides")
        (row,) = (row for row in best if f"batch of {batch}" in row["where"])
        assert float(row["recipe as printed"]) == pytest.approx(
            want["best, r*"], abs=0.006
        )
    for row in best:
        heads = ("printed", "recipe as printed", "with the choice")
        printed, plain, chosen = (first(row[head].lstrip("≈ ")) for head in heads)
        assert chosen == pytest.approx(printed, abs=0.05)
        assert abs(chosen - printed) <= abs(plain - printed)
        assert (row["the choice"] == "none needed") == (plain == chosen)


def test_the_means_are_off_by_their_quotient_and_the_law_moves_what_was_simulated() -> (
    None
):
    for row in of("Tokens in a slot"):
        ratio = first(row["by means"]) / first(row["in a slot"])
        assert first(row["means off by"]) == pytest.approx(100 * (ratio - 1), abs=0.1)
        assert 0.5 < float(row["spread of answers"]) < 3
    shown = of("Other laws")
    made = [first(r["simulated"]) * (1 + first(r["by means"]) / 100) for r in shown]
    assert made == pytest.approx([made[0]] * len(made), rel=3e-3), "the means are one"
    for row in shown:
        assert (row["by means"] == row["by slot"]) == (first(row["in a slot"]) == THETA)
        assert abs(first(row["our rule"])) <= abs(first(row["by slot"])) + 0.05
    slots = [(first(r["in a slot"]), first(r["simulated"])) for r in shown]
    by_slot = [rate for _, rate in sorted(slots)]
    assert by_slot == sorted(by_slot, reverse=True), "longer contexts, fewer tokens"


def test_errors_of_both_rules_grow_from_the_median_to_the_worst() -> None:
    paper, ours = of("9 bundles")
    assert (paper["error of throughput"], ours["error of throughput"]) == (
        "the paper's form", "our rule")  # fmt: skip
    for row in (paper, ours):
        sizes = [first(row[head]) for head in ("median", "99 in 100 below", "worst")]
        assert sizes == sorted(sizes)
    heads = ("median", "99 in 100 below", "worst", "best ratio off by")
    assert all(first(ours[head]) < first(paper[head]) for head in heads)
    worst = of("Worst errors of our rule")
    tokens = {
        row["three batches in flight"]: first(row["rule is off by"]) for row in worst
    }
    short = [tokens[f"answers of {n}"] for n in ("one token", "5 tokens", "20 tokens")]
    assert short == sorted(short) and short[-1] < 0
    assert all(1 <= int(row["at r"]) <= 32 for row in worst)


def test_a_slope_over_another_is_their_quotient() -> None:
    *shown, last = of("Slopes from first principles")
    for row in shown:
        heads = ("attention reads", "computes", "FFN", "wire")
        reads, computes, ffn, wire = (float(row[head]) for head in heads)
        attn = max(reads, computes)
        assert float(row["FFN/attention"]) == pytest.approx(ffn / attn, rel=8e-3)
        assert float(row["wire/attention"]) == pytest.approx(wire / attn, rel=8e-3)
    c = fitted()
    assert agrees(last["FFN/attention"], c["a_ffn"] / c["a_attn"])
    assert agrees(last["wire/attention"], c["a_comm"] / c["a_attn"])


def test_columns_of_a_choice_are_of_one_ratio_and_the_other() -> None:
    """Only what completed is fewer than all; with more machines the FFN waits less."""
    shown = {row["choice"]: row for row in of("What the paper leaves open")}
    for row in shown.values():
        few, many = (
            ("r = 1: (21)", "all", "FFN waits"),
            ("r = 8: (21)", "all 5", "FFN waits 6"),
        )
        for counted, every, _ in (few, many):
            assert first(row[counted]) <= first(row[every])
        assert first(row[few[1]]) < first(row[many[1]])
        assert first(row[few[2]]) > first(row[many[2]])
    flights = ("one batch in flight", "our choices", "three batches in flight")
    for head in ("all", "all 5"):
        rates = [first(shown[name][head]) for name in flights]
        assert rates == sorted(rates)
    late = "Attention machines wait for one another"
    assert first(shown[late]["A waits"]) > first(shown["our choices"]["A waits"])


def test_with_more_attention_machines_these_wait_more_and_the_ffn_less() -> None:
    shown = of("The paper's Figures 4 and 5")
    for one, more in pairwise(shown):
        assert int(one["r"]) < int(more["r"])
        assert first(one["A waits"]) < first(more["A waits"])
        assert (
            first(one["FFN waits"]) > first(more["FFN waits"])
            or more["FFN waits"] == "0.0%"
        )
    for row in shown:
        assert abs(first(row["our rule"])) < 1 < first(row["the paper's form"])
