"""Each part of the chapter's step figures is what it is called, frame by frame.

Lengths come from the sizes of the small attention, times from the twin's blocks; a
tensor, a counter or a phase that is not named here fails.
"""

import re
from collections.abc import Iterator
from itertools import pairwise, product
from math import prod

import pytest

from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.executed.mla import D_MODEL, TINY
from llmserve_lab.deepseek.page import overlap
from llmserve_lab.page.step.figure import StepLog
from tests.each import Row, alive, numbers, step

OLD, ALL = 7, 8  # cached tokens, and those with the new one
HEADS, WIDE = TINY.n_heads, TINY.d_latent + TINY.d_rope
SHAPES = {  # what a label calls, by the sizes of the model
    "query": (HEADS, TINY.d_head),
    "rotary part": (HEADS, TINY.d_rope),
    "keys": (ALL, HEADS, TINY.d_head),
    "values": (ALL, HEADS, TINY.d_v),
    "turned query": (HEADS, WIDE),
    "mixed latents": (HEADS, TINY.d_latent),
    "result": (HEADS, TINY.d_v),
}
U_MAKES = {
    "plain form": {"keys", "values"},
    "absorbed form": {"turned query", "result"},
}
BOTH = prod(SHAPES["keys"]) + prod(SHAPES["values"])
UP = 2 * TINY.d_latent * BOTH // ALL  # FLOPs that make the key and value of a token
PAIRS = {  # FLOPs of the scores and the sums, over all tokens
    "plain form": ALL * 2 * HEADS * (TINY.d_head + TINY.d_rope + TINY.d_v),
    "absorbed form": ALL * 2 * HEADS * (WIDE + TINY.d_latent),
}


def new_in(log: StepLog, at: int) -> str:
    """The tensor whose label comes in a frame."""
    words = [row["text"] for row in log.tables["words"] if row["since"] == at]
    (name,) = {word.split(": ")[0] for word in words} & set(SHAPES)
    return str(name)


def area(rows: list[Row], ink: str) -> float:
    return float(sum(row["x2"] - row["x"] for row in rows if row["ink"] == ink))


@pytest.mark.parametrize("form", PAIRS)
def test_a_tensor_of_latent_attention_is_the_one_that_its_label_calls(
    form: str,
) -> None:
    """Label, size, ink and the box of U of each frame; keys and values were made."""
    figure = step("deepseek.two_forms")
    log, inks = figure.logs[form], {what: ink for ink, what in figure.legend.items()}
    again, own = inks["made from the cache and the new token"], figure.legend["new"]
    assert own.startswith("of the new token") and inks["in the cache"] == "cache"
    (box,) = (ink for what, ink in inks.items() if what.startswith("U, "))
    for at in range(1, len(log.frames)):
        name = new_in(log, at)
        rows = [dict(row) for row in log.tables["cells"] if row["since"] == at]
        words = [row["text"] for row in log.tables["words"] if row["since"] == at]
        assert f"{name}: {' × '.join(map(str, SHAPES[name]))}" in words
        ink = again if name in ("keys", "values") else "new"
        assert area(rows, ink) == pytest.approx(prod(SHAPES[name])), name
        assert {row["ink"] for row in rows} <= {
            ink,
            "cache",
            box,
            inks["FLOPs that differ"],
        }
        boxes = [row for row in rows if row["ink"] == box]
        assert [row["text"] for row in boxes] == ["U"] * (name in U_MAKES[form])
        for row, arrow in product(boxes, words):
            if arrow in "→↓":  # from the box to what the product makes
                made = [r for r in rows if r["ink"] == ink]
                way = "x" if arrow == "→" else "y"
                assert min(r[way] for r in made) > row[way]


@pytest.mark.parametrize("form", PAIRS)
def test_the_cache_has_seven_rows_and_then_eight(form: str) -> None:
    """Each as wide as a latent and a rotary key, which stand once more beside keys."""
    log = step("deepseek.two_forms").logs[form]
    for at in range(len(log.frames)):
        tokens = ALL if at else OLD
        shown = [
            row["text"] for row in alive(log, "words", at) if "cache" in row["text"]
        ]
        assert shown == [f"cache: {tokens} × {WIDE}"]
        keys = any("keys: " in row["text"] for row in alive(log, "words", at))
        want = tokens * WIDE + (ALL * TINY.d_rope if keys else 0)
        assert area(alive(log, "cells", at), "cache") == pytest.approx(want)


@pytest.mark.parametrize("form", PAIRS)
def test_each_counter_and_number_of_a_frame_of_latent_attention(form: str) -> None:
    """Spent so far: old keys and values as one product, and the pairs at last."""
    figure = step("deepseek.two_forms")
    log, plain = figure.logs[form], form == "plain form"
    made, spent = 0, 0
    differ = {"plain form": OLD * UP + PAIRS["plain form"],
              "absorbed form": PAIRS["absorbed form"]}  # fmt: skip
    alike = 2 * (sum(prod(shape) for _, shape in TINY.weights(D_MODEL)
                     if len(shape) == 2))  # fmt: skip
    said = {
        "query": [D_MODEL, HEADS, TINY.d_head],
        "rotary part": [TINY.d_rope],
        "keys": [ALL, OLD, OLD * UP],
        "turned query": [TINY.d_latent, TINY.d_rope],
        "result": [*([] if plain else [HEADS]), BOTH * OLD // ALL,
                   differ["plain form"], differ["absorbed form"], alike],
    }  # fmt: skip
    first = [OLD, TINY.d_latent, TINY.d_rope, D_MODEL]
    assert numbers(log.frames[0].sentence) == first
    labels = [each.label for each in figure.counters]
    assert labels == [
        "keys and values of cached tokens: numbers made",
        "FLOPs that differ, so far",
    ]
    for at, frame in enumerate(log.frames):
        name = new_in(log, at) if at else ""
        again = name in ("keys", "values")  # of old tokens, as are the FLOPs beside it
        made += prod(SHAPES[name]) * OLD // ALL if again else 0
        spent += OLD * UP if name == "keys" else 0
        last = "result" if plain else "mixed latents"
        spent += PAIRS[form] if name == last else 0
        assert list(frame.counters) == [made, spent], (at, name)
        if at:
            assert numbers(frame.sentence) == said.get(name, []), name


PHASE = re.compile(r"(attention|dispatch|experts|combine)(?: of ([AB]))? in layer (\d)")


def of_way(log: StepLog, way: str) -> list[Row]:
    rows = [dict(row) for row in log.tables["spans"] if row["y"].startswith(way)]
    return sorted(rows, key=lambda row: row["x"])


def played(log: StepLog, way: str) -> Iterator[tuple[str, str, int, Row]]:
    """Letter, half and layer of each bar, counted along its half."""
    for half in "AB":
        own = [row for row in of_way(log, way) if row["ink"] == half]
        for place, row in enumerate(own):
            yield row["text"], half, place // 4 + 1, row


@pytest.mark.parametrize("way", [overlap.ONE, overlap.TWO])
def test_a_half_goes_through_its_phases_in_turn_and_the_first_one_leads(
    way: str,
) -> None:
    """What is sent starts after its start; a batch is the first half alone."""
    figure = step("deepseek.two_batches")
    assert figure.legend["A"].startswith("first half")
    assert figure.legend["B"].startswith("second half")
    for log in figure.logs.values():
        rows = of_way(log, way)
        begins = {}
        for half in {row["ink"] for row in rows} - {"other"}:
            own = [row for row in rows if row["ink"] == half]
            assert "".join(row["text"] for row in own) == "atdiexco" * overlap.LAYERS
            assert all(a["x2"] <= b["x"] + 1e-5 for a, b in pairwise(own))
            begins[half] = own[0]["x"]
        assert min(begins, key=lambda half: begins[half]) == "A"
        assert (way == overlap.TWO) == ("B" in begins)
        sent = {row["x"] for row in rows if row["text"] in ("di", "co")}
        starts = [row for row in rows if row["ink"] == "other"]
        assert len(starts) == len(begins) * 2 * overlap.LAYERS
        assert all(row["x2"] in sent and not row["text"] for row in starts)


def test_one_batch_takes_in_each_phase_what_the_twin_says() -> None:
    """In milliseconds a layer; results come back in twice the bytes."""
    for log, n in zip(step("deepseek.two_batches").logs.values(), (256, 32),
                      strict=True):  # fmt: skip
        block = worked.twin("none").blocks(batch=n, context=worked.CONTEXT)
        ms = {name: 1e3 * float(value) for name, value in block.items()}
        long = {t: row["x2"] - row["x"] for t, _, _, row in played(log, overlap.ONE)}
        begun = [r for r in of_way(log, overlap.ONE) if r["ink"] == "other"]
        start = begun[0]["x2"] - begun[0]["x"]
        assert long["at"] == pytest.approx(
            (ms["mla_s"] + ms["attn_elementwise_s"]) / 61, rel=1e-3
        )
        assert long["ex"] == pytest.approx(
            (ms["experts_s"] + ms["moe_elementwise_s"]) / 58, rel=1e-3
        )
        assert long["di"] + long["co"] + 2 * start == pytest.approx(
            ms["all_to_all_s"] / 58, rel=1e-3
        )
        assert long["co"] / long["di"] == pytest.approx(2, rel=0.1)


def test_sentence_and_counters_of_a_moment_are_what_its_line_crosses() -> None:
    figure = step("deepseek.two_batches")
    names = [each.label.split(":")[0] for each in figure.counters]
    assert names == [overlap.ONE, overlap.TWO]
    frames = ((log, f) for log in figure.logs.values() for f in log.frames)
    for log, frame in frames:
        assert frame.at is not None
        for way, counted in zip(names, frame.counters, strict=True):
            (said,) = re.findall(rf"{way}: (.*?)\.(?= [A-Z]|$)", frame.sentence, re.I)
            end = max(row["x2"] for row in of_way(log, way))
            if end <= frame.at + 1e-5:
                assert numbers(said) == [pytest.approx(end, abs=0.006)]
                assert float(counted) == pytest.approx(end / 1e3, abs=1e-8)
                continue
            assert counted == "not done"
            going = {
                (letter[0], half if way == overlap.TWO else "", layer)
                for letter, half, layer, row in played(log, way)
                if row["x"] < frame.at - 1e-5 and frame.at <= row["x2"] + 1e-5
            }
            told = {(w[0], half, int(n)) for w, half, n in PHASE.findall(said)}
            assert told == going and (told or said == "a transfer starts"), frame.at
