"""Each column of the tables is worked out once more from what its heading says."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from llmserve_lab import running_example
from llmserve_lab.engine import IterationLoad
from llmserve_lab.tensor_parallel import article, published
from llmserve_lab.tensor_parallel import worked_example as worked
from llmserve_lab.tensor_parallel.arguments import DEVICE, MODEL
from llmserve_lab.tensor_parallel.page import decision
from llmserve_lab.validation.room import working_bytes
from tests.page.cells import lines, number, says, wrong

PROMPT = running_example.PROMPT


def seconds(tp: int, load: IterationLoad) -> float:
    return running_example.served_by(MODEL, DEVICE, tp=tp).seconds(load)


def rate(tp: int, groups: int, requests: int) -> float:
    """Tokens a second of all groups, which share the requests; of one, that group's."""
    each = max(1, requests // groups)
    one = IterationLoad.of(chunk=1, context=PROMPT)
    rows, pairs, kv_tokens, many, _ = (each * n for n in one)
    load = IterationLoad(rows, pairs, kv_tokens, many, prompts=0)
    return min(requests, groups * each) / seconds(tp, load)


def read_s(tp: int) -> float:
    return seconds(tp, IterationLoad.of(chunk=PROMPT))


def room(tp: int, slots: int = 0) -> float:
    """Tokens that fit into the GPUs of a group, in whole blocks."""
    kept = working_bytes(slots, vocab=MODEL.vocab, n_gpus=tp) if slots else None
    return worked.cached_tokens(tp, kept)


def layout(head: str) -> tuple[int, int]:
    """GPUs of a group, and groups."""
    groups, tp = re.findall(r"(?:(\d) × )?TP (\d)", head)[0]
    return int(tp), int(groups or 1)


Value = Callable[[int, int, "re.Match[str]"], float]
# Each row of the two ways by its words: what is so of groups of so many GPUs.
CHOICE: dict[str, Value] = {
    r"prompt of 1,000, ms": lambda tp, groups, _: 1e3 * read_s(tp),
    r"prompts of 1,000 a second, one at a time": lambda tp, g, _: g / read_s(tp),
    r"(\d+) requests?, tokens/s.*": lambda tp, g, m: rate(tp, g, int(m[1])),
    r"room, tokens": lambda tp, groups, _: groups * room(tp),
    r"the same, slots for (\d+) requests": lambda tp, g, m: (
        g * room(tp, int(m[1]) // g)
    ),
}


def test_each_cell_of_the_two_ways_is_its_row_at_its_groups() -> None:
    table, read = decision.choice(), set[str]()
    for row in lines(table):
        name = row["eight H100s"]
        ((value, found),) = (
            (value, m) for p, value in CHOICE.items() if (m := re.fullmatch(p, name))
        )
        both = [value(*layout(head), found) for head in ("TP 8", "2 × TP 4")]
        assert says(row["TP 8"], both[0]) and says(row["2 × TP 4"], both[1]), row
        less = "ms" in name  # of a time the better is the shorter one
        assert says(row["gain"], both[1] / both[0] if less else both[0] / both[1])
        read.add(found.re.pattern)
    assert read == {*CHOICE}


def test_the_errors_below_the_two_ways_are_of_the_groups_that_they_name() -> None:
    """Each group serves its part of the requests."""
    (note,) = decision.choice().notes
    told = re.findall(r"(\d+) requests: (.*?) \(TP 8\) and (.*?) \(2 × TP 4\)", note)
    assert [int(each[0]) for each in told] == [32, 512]
    for requests, *said in told:
        for text, (tp, groups) in zip(said, ((8, 1), (4, 2)), strict=True):
            clients = int(requests) // groups
            band = running_example.band(
                "decode_step", clients=clients, tp=tp, model_key=MODEL.key
            )
            assert text == band.inverse().short.replace(" on runs like this", "")


def found(row: str) -> tuple[published.Doubling, ...]:
    """The pairs of a row: from so many GPUs to twice as many."""
    return tuple(p for p in published.doublings() if f"{p.row.tp} → {p.n_gpus}" == row)


def test_each_column_of_the_gains_is_of_its_pairs() -> None:
    table = published.gains_table()
    measured = {
        row: [p.measured for p in found(row)] for row in ("1 → 2", "2 → 4", "4 → 8")
    }

    def off(row: str) -> float:
        return float(np.mean([abs(p.predicted / p.measured - 1) for p in found(row)]))

    columns = {
        "pairs": lambda row: float(len(found(row))),
        "measured": lambda row: np.mean(measured[row]),
        "predicted": lambda row: np.mean([p.predicted for p in found(row)]),
        "off by": off,
    }
    assert wrong(table, columns) == []
    for row in lines(table):
        ends = row["measured"].partition(" (")[2].rstrip(")").split("–")
        inside = [float(ends[0]) <= x <= float(ends[1]) for x in measured[row["GPUs"]]]
        assert np.mean(inside) == pytest.approx(0.8, abs=0.03)


STEP = re.compile(r"(?:W \[(\d+)×(\d+)\], )?\[4×(\d+)\] → \[4×(\d+)\](?: \((.*)\))?")


@pytest.mark.parametrize("ranks", [2])
def test_each_column_of_the_steps_is_a_rank_with_the_next_heads(ranks: int) -> None:
    """What a rank takes it was given; columns of all ranks add up to one GPU's."""
    table = article.execute("paired", ranks, article.batch()).table
    alone = lines(article.execute("paired", 1, article.batch()).table)
    assert table.columns == ("step", *(f"rank {i}" for i in range(ranks)))
    held = dict.fromkeys(table.columns[1:], 512)
    for row, one in zip(lines(table), alone, strict=True):
        ((*_, whole, _),) = STEP.findall(one["rank 0"])
        for rank in range(ranks):
            ((of, to, taken, given, remark),) = STEP.findall(row[f"rank {rank}"])
            if "residual" not in row["step"]:
                assert int(taken) == held[f"rank {rank}"]
            held[f"rank {rank}"] = int(given)
            assert (of, to) in (("", ""), (taken, given))
            shared = "(columns)" in row["step"] or row["step"] in ("attention", "GeLU")
            assert int(given) * (ranks if shared else 1) == int(whole)
            assert (remark == "partial sum") == ("(rows)" in row["step"])
            if remark.startswith("heads"):
                each = 8 // ranks
                assert remark == f"heads {rank * each + 1}–{(rank + 1) * each}"


def test_a_cell_is_read_to_its_last_digit() -> None:
    assert number("1,406,544")[0] == 1406544
    assert says("11,450", 11_454) and not says("11,450", 11_456)
    assert says("37 ms", 0.0374) and not says("37 ms", 0.0376)
    assert says("−5 %", -0.052) and says("0.86×", 0.857)


def test_each_part_of_a_token_is_what_the_engine_charges_for_it() -> None:
    cost = running_example.served_by(MODEL, DEVICE, tp=4)
    load = IterationLoad.of(chunk=1, context=PROMPT)
    parts = {
        "arithmetic": (1 - cost.overlap) * cost.row_s,
        "cache": load.kv_tokens * cost.kv_token_s,
        "attention": load.pairs * cost.pair_s,
        "request": cost.request_s,
        "bytes": cost.collective_row_s,
    }
    assert worked.small_parts(4) == pytest.approx(
        {n: 1e3 * s for n, s in parts.items()}
    )
    whole, weights = 1e3 * cost.seconds(load), 1e3 * cost.weights_s
    other = sum(worked.small_parts(4).values())
    token = {"weights": weights, "beside": whole - weights - other, "other": other}
    assert worked.token(4) == pytest.approx(token | {"sum": whole}, abs=0.011)
