"""Numbers of a reason and of hints, in their order, from those that the prompt states.

So a datum that a reason takes from another case, or a result of another step, is found:
what it prints is worked out from the prompt that the reader has before them.
"""

from collections.abc import Callable
from math import ceil, exp

import numpy as np
import pytest

from llmserve_lab.catalog.evidence.serving import BLOCK_COUNTS
from llmserve_lab.how_wrong.pairs import pairs
from llmserve_lab.how_wrong.record import record
from llmserve_lab.kv_memory.serving import warm
from llmserve_lab.page.question.content import text_of
from llmserve_lab.running_example import device
from llmserve_lab.symptoms.case import RemedyTrial, tried
from llmserve_lab.symptoms.cases import case
from tests.page.amounts import amounts, untrue
from tests.page.prompts import behind, both_rates
from tests.page.solved import ratio
from tests.page.test_hints import MINE, plain_text
from tests.page.test_numbers_of_prompts import said
from tests.page.test_prompts import data
from tests.parallelism.test_whys import rate

Numbers = list[float]
CHAPTERS = ("afd", "flash-attention", "how-wrong", "symptoms", "varlen")
BLOCK, TOKEN = 16, 131_072  # tokens of a block, bytes of a token in cache
ANSWER = 500  # tokens in the mean, in the example of AFD


def longer(late: float, early: float) -> Numbers:
    return [early, late, *(ratio(256, each, ANSWER) for each in (early, late))]


def slowest(many: float, _: float) -> Numbers:
    """No machine whose load is five deviations off delays so large an FFN."""
    held, spread = 100 + ANSWER, (100**2 + ANSWER**2) ** 0.5
    slow = 0.00165 * (256 * held + 5 * 16 * spread) + 50
    ffn, wire = 0.083 * 256 * many + 100, 0.022 * 256 + 20
    return [many, 0.0 if max(slow, (slow + ffn + wire) / 2) < ffn else 1.0]


def tile_sums(*each: float) -> Numbers:
    tops = [max(each[:2]), max(each)]
    first = sum(exp(x - tops[0]) for x in each[:2])
    off = [top - tops[1] for top in (tops[0], min(each[2:]))]
    whole = sum(exp(x - tops[1]) for x in each)
    return [tops[0], first, tops[1], first, -off[0], -off[1], 1, whole]


def keys(wide: float, bits: float, rows: float, room: float, step: float) -> Numbers:
    size = bits / 8
    queries, key = rows * wide * size, 2 * wide * size
    left = room - queries
    fit = left / (2 * key)
    most = fit // step * step
    return [rows, wide, size, queries, key, left, 2 * key, fit, step, most]


def seesaw(_: float) -> Numbers:
    found = pairs("vllm", "sglang")
    whole = [
        [each.ttft_s + each.tpot_s * (each.output_len - 1) for each in pair]
        for pair in found
    ]
    first = np.median([b.ttft_s / a.ttft_s for a, b in found])
    return [float(first), float(np.median([b / a for a, b in whole]))]


def errors(*each: float) -> Numbers:
    off = [p / m - 1 for p, m in zip(each[:8:2], each[1:8:2], strict=True)]
    size = sum(map(abs, off)) / len(off)
    return [*map(abs, off[:3]), size, size, sum(off) / len(off)]


def planned(*each: float) -> Numbers:
    token, clients, _, short, __, first, answer, gpus, wanted = each
    longest = token / (1 - short)
    servers = ceil(wanted * (first + (answer - 1) * longest) / (clients * answer))
    return [short, longest, servers, gpus * servers]


def blocks(*each: float) -> Numbers:
    n, room, share, weights, kept, _, block = each
    (mine,) = (c for c in BLOCK_COUNTS if "Nemo" in c.model.name and c.tp == 2)
    fit = (n * (share * room - kept) - weights) / block
    return [float(int(fit)), fit, 0.9, float(mine.blocks)]


def trial(key: str, cause: str, remedy: str) -> RemedyTrial:
    return tried(case(key), cause, remedy)


def first(_: float) -> Numbers:
    what = trial("first-token", "too few slots", "more slots in the batch")
    share, used = (what.before[name] for name in ("queue_share", "kv_peak"))
    gauges = what.before.series
    assert gauges is not None, "every watched run keeps its log"
    most = float(max(gauges.running))
    return [share, used, most, what.after["ttft_p50"]]


def second(_: float) -> Numbers:
    what = trial("percentiles", "prompts among the decodes", "smaller chunks")
    tokens = float(what.remedy.option.split()[-1])
    tails = [at["itl_p99"] for at in what.pair]
    return [what.before["itl_p50"], tokens, 99, *tails]


def third(_: float, system: float, room: float) -> Numbers:
    """Twenty prompts with questions of 300 tokens on average and answers of 200."""
    key, cause = "prefix-cache", "prompts differ at the start"
    what = trial(key, cause, "move what changes to the end")
    medians = [float(f"{at['ttft_p50']:.2g}") for at in what.pair]
    taken = 20 * ceil((system + 300 + 200) / BLOCK)
    return [20, taken, room, *medians]


def storm(clients: float, answer: float, was: float, now: float) -> Numbers:
    key, cause = "preemption-storm", "answers outgrow the cache"
    what = trial(key, cause, "a larger share of the memory")
    left = what.after["preemptions"] / what.before["preemptions"]
    more = (now - was) * float(device().usable_bytes) / (BLOCK * TOKEN)
    *_, room = data(said("symptoms.third"))
    return [left, more / room, clients * (1000 + answer) / (room * BLOCK)]


def shares() -> Numbers:
    return [warm(name).hit_share for name in ("least loaded", "prefix-aware")]


REASONS: dict[str, Callable[..., Numbers]] = {
    "afd.predict-context": longer,
    "afd.predict-slowest": slowest,
    "afd.best-ratio": lambda prompt, answer, batch: [ratio(batch, prompt, answer)],
    "afd.loop": lambda batch, prompt, row, fixed: [
        ratio(batch, prompt, ANSWER, wire=1e6 * (row * batch + fixed))
    ],
    "afd.same-time": lambda *each: [*both_rates(*each), behind(*each)],
    "flash-attention.predict-square": lambda n, bits, heads, *_: [
        n, bits / 8, n**2 * bits / 8, heads, heads * n**2 * bits / 8,
    ],
    "flash-attention.predict-busy": lambda heads, sms: [heads, sms, heads / sms],
    "flash-attention.square": lambda n, bits: [n, n**2 * bits / 8],
    "flash-attention.running-sum": tile_sums,
    "flash-attention.keys-that-fit": keys,
    "flash-attention.splits": lambda _, sms: [4, sms, 4, sms / 4],
    "how-wrong.predict-script": lambda: [
        record()["script"]["lengths at 80 to 100 % of the nominal ones"][1]
    ],
    "how-wrong.predict-seesaw": seesaw,
    "how-wrong.mape": errors,
    "how-wrong.interval": planned,
    "how-wrong.blocks": blocks,
    "kv-memory.predict-routing": lambda *_: shares(),
    "parallelism.predict-layout": lambda _: [
        8, 2 * 80, rate("TP 8"), rate("TP 4 × DP 2"), rate("PP 8"), 8,
    ],
    "symptoms.first": first,
    "symptoms.second": second,
    "symptoms.third": third,
    "symptoms.predict-memory": storm,
    "symptoms.slots": lambda room, size, prompt, answer: [
        prompt + answer, ceil((prompt + answer) / size), room,
        ceil((prompt + answer) / size), room // ceil((prompt + answer) / size),
    ],
    "symptoms.running": lambda latency, queue: [
        4, latency, queue, 4 * (latency - queue),
    ],
    "symptoms.ran": lambda n, late, whole, _, soon, __: [
        late - soon, whole, n * (1 - (late - soon) / whole),
    ],
    "varlen.predict-masked": lambda n: [(64 * n) ** 2, 64, 64 * n**2],
    "varlen.waste": lambda *each: [1 - sum(each) / (len(each) * max(each))],
    "varlen.padding-time": lambda mean, most, row: [
        16, most, mean, 16 * (most - mean) * row,
    ],
    "varlen.tiles": lambda _, n, rows, keys: [
        rows * keys, n, n + 1, 2, n * (n + 1) / 2, n * (n + 1) / 2 / (6 * rows * keys),
    ],
}  # fmt: skip
# Drawn, or counted from shapes: tests of the chapter and of prompts have them.
ELSEWHERE = {"varlen.predict-padding", "varlen.predict-dominates", "varlen.overtake"}
HINTS: dict[str, Callable[..., Numbers]] = {
    "afd.best-ratio": lambda _, __, batch: [batch / 2],
    "afd.same-time": lambda *each: [2, each[5]],
    "end-to-end.dog": lambda *query: [len(query) ** 0.5],
    "flash-attention.predict-square": lambda n, bits, heads, *_: [
        heads * n**2, n**2, bits / 8,
    ],
    "flash-attention.square": lambda *_: [4096 / 128],
    "flash-attention.keys-that-fit": lambda wide, bits, rows, *_: [
        rows * wide * bits / 8
    ],
    "moe.ridge": lambda _, chosen, *__: [chosen],
    "parallelism.predict-runs": lambda first, *_: [first],
    "quantization.worst": lambda _, __, largest: [2**4, largest],
    "speculative.predict-redraw": lambda *p: [
        min(p[0], p[3]), 1 - sum(map(min, p[:3], p[3:])),
    ],
    "speculative.by-hand": lambda _, __, kept, *___: [kept],
    "symptoms.predict-memory": lambda *_: [80e9, 2e9],
    "varlen.predict-masked": lambda _: [64],
}  # fmt: skip


def hinted(name: str) -> str:
    return " ".join(plain_text(text_of(hint.text)) for hint in MINE[name].hints)


@pytest.mark.parametrize("name", REASONS)
def test_a_reason_follows_from_the_numbers_of_its_prompt(name: str) -> None:
    why = plain_text(text_of(MINE[name].why))
    assert untrue(why, REASONS[name](*data(said(name)))) == []


@pytest.mark.parametrize("name", HINTS)
def test_numbers_of_hints_follow_from_those_of_the_prompt(name: str) -> None:
    assert untrue(hinted(name), HINTS[name](*data(said(name)))) == []


def test_every_reason_of_these_chapters_and_every_hint_was_read() -> None:
    own = {name for name in MINE if name.startswith(CHAPTERS)}
    told = {n for n in own if [*amounts(plain_text(text_of(MINE[n].why)))]}
    assert told == {n for n in REASONS if n in own} | ELSEWHERE
    left_out = ("capacity.", "deepseek.")
    read = {n for n in MINE if not n.startswith(left_out) and [*amounts(hinted(n))]}
    assert read == {*HINTS}
