"""Temperatures and the stations of one pass, part by part: each found a second time."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from llmserve_lab.end_to_end import tokens
from llmserve_lab.end_to_end.story import PROMPT, STORIES, WORDS, model, tokenize
from llmserve_lab.transformer import Transformer
from llmserve_lab.transformer.weights import Weights
from tests.end_to_end.test_step_parts import LLAMA, figure, minus
from tests.page.test_counters import drawn
from tests.transformer import loops


# Temperature and top-p.
@cache
def learned() -> dict[str, float]:
    """Logits of the words after the prompt, by a model of one number at a time."""
    return dict(zip(WORDS, loops.logits(model(), tokenize(PROMPT))[-1], strict=True))


def shares(temperature: float, top_p: float) -> dict[str, float]:
    """Chances of the words: the likeliest first, until their sum reaches p."""
    found = loops.softmax([x / temperature for x in learned().values()])
    ranked = sorted(zip(WORDS, found, strict=True), key=lambda pair: -pair[1])
    kept, total = dict[str, float](), 0.0
    for word, share in ranked:
        if total < top_p - 1e-12 or top_p == 1:
            kept[word] = share
        total += share
    return {word: share / sum(kept.values()) for word, share in kept.items()}


HOT = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)


@pytest.mark.parametrize(("name", "top_p"), [("all words", 1.0), ("top-p 0.9", 0.9)])
def test_each_part_of_a_temperature(name: str, top_p: float) -> None:
    heat = figure("heat")
    log = heat.logs[name]
    assert len(heat.logs) == 2 and set(log.tables) == {"bars", "beside"}
    likeliest = sorted(WORDS, key=lambda word: -learned()[word])[:5]
    domain = (*(word.strip() for word in likeliest), "all others")
    assert heat.scene.y.domain == domain
    for frame, (said, temperature) in enumerate(zip(log.frames, HOT, strict=True)):
        kept, free = shares(temperature, top_p), shares(temperature, 1.0)
        assert said.counters == (temperature, len(kept))
        best = max(kept, key=lambda word: kept[word])
        assert said.sentence == (
            f"At temperature {temperature:g}, “{best.strip()}” is drawn "
            f"{100 * kept[best]:.0f} times in a hundred."
        )
        bars = {row["word"]: row for row in drawn(log, frame, "bars")}
        beside = {row["word"]: row for row in drawn(log, frame, "beside")}
        assert set(bars) == set(beside) == set(domain)
        for called in domain:
            group = [w for w in WORDS if w.strip() == called]
            group = group or [w for w in WORDS if w not in likeliest]
            share, was = (sum(p.get(w, 0) for w in group) for p in (kept, free))
            bar = bars[called]
            assert bar["start"] == 0 and bar["end"] == pytest.approx(share, abs=1e-8)
            assert bar["ink"] == ("new" if share else "empty")
            text = f"{share:.2f}" if share else f"cut (was {was:.2f})"
            assert text in (bar["text"], beside[called]["text"])


def test_the_model_of_the_page_has_learned_what_follows_the_prompt() -> None:
    """By how often each story was read: at temperature 1, without a cut."""
    begun = {s: n for s, n in STORIES.items() if s.startswith(f"{PROMPT} ")}
    for word in (" ball", " bone", " stick", " fish", " worm"):
        read = sum(n for s, n in begun.items() if s.startswith(PROMPT + word))
        found = shares(1.0, 1.0)[word]
        assert found == pytest.approx(read / sum(begun.values()), abs=0.01)


# One pass.
@cache
def rows_of_the_pass() -> dict[str, Any]:
    """Rows at each station: the table, a model cut after block 1, the whole one."""
    whole, ids = model(), tokenize(PROMPT)
    shape = replace(whole.shape, n_layers=1)
    first = {name: array[:1] for name, array in whole.weights.arrays.items()}
    cut = Transformer(shape, weights=Weights(shape, first))
    return {
        "vectors": np.array([whole.weights.embedding[i] for i in ids]),
        "block 1": cut.hidden(ids, (0, len(ids))),
        "block 2": whole.hidden(ids, (0, len(ids))),
    }


def test_each_part_of_a_pass() -> None:
    way = figure("way")
    (log,) = way.logs.values()
    assert set(log.tables) == {"cells", "marked"} and way.scene.fixed is not None
    words = PROMPT.replace(" ", "\n ").split("\n")
    names = {r["text"]: r["y"] for r in way.scene.fixed["names"]}
    bands = list(names)[:8]
    texts = {
        "text": [PROMPT],
        "tokens": [word.replace(" ", "␣") for word in words],
        "ids": [f"{tokens.RANKS[word]:,}" for word in words],
        "guesses": [
            WORDS[int(np.argmax(row))].replace(" ", "␣")
            for row in loops.logits(model(), tokenize(PROMPT))
        ],
        "choice": ["␣ball"],
    }
    for band, rows in rows_of_the_pass().items():
        texts[band] = [minus(row[1]) for row in rows]
    twice = [i for i, word in enumerate(words) if words.count(word) > 1]
    assert [texts["vectors"][i] for i in twice] == [texts["vectors"][twice[0]]] * 2
    assert texts["block 1"][twice[0]] != texts["block 1"][twice[1]]
    for frame in range(9):
        cells = drawn(log, frame, "cells")
        for place, band in enumerate(bands):
            line = sorted(
                (c for c in cells if c["y"] < names[band] < c["y2"]),
                key=lambda c: c["x"],
            )
            if frame == 8 and band == "tokens":
                new = line.pop()
                assert (new["text"], new["ink"]) == ("␣ball", "new")
            both = band in ("vectors", "block 1") and place <= frame <= 4
            ink = "empty" if place > frame else "new" if place == frame else "other"
            want = [
                "cache" if both and column in twice else ink
                for column in range(len(line))
            ]
            assert [c["ink"] for c in line] == want, (frame, band)
            shown = [c["text"] for c in line]
            if place > frame:
                assert not any(shown)
            elif band == "ids":  # of Llama's vocabulary: the same word, the same id
                same = [shown[i] == shown[j] for i in range(4) for j in range(i)]
                assert same == [
                    words[i] == words[j] for i in range(4) for j in range(i)
                ]
            else:
                assert shown == texts[band]
        marked = {r["text"]: r["y"] for r in drawn(log, frame, "marked")}
        want_marks = {3: {"← equal": "vectors"},
                      4: {"← equal": "vectors", "← different": "block 1"}}  # fmt: skip
        assert marked == {
            text: names[band] for text, band in want_marks.get(frame, {}).items()
        }
    sizes = [f.counters for f in log.frames]
    n, small = len(words), model().shape
    assert sizes == [
        (f"{len(PROMPT)} characters",) * 2,
        (f"{n} tokens",) * 2,
        (f"{n} ids",) * 2,
        *[(f"{n} × {small.d_model}", f"{n} × {LLAMA.d_model:,}")] * 3,
        (f"{n} × {len(WORDS)}", f"{n} × {LLAMA.vocab:,}"),
        ("1 token",) * 2,
        (f"{n + 1} tokens",) * 2,
    ]
    assert [c.label for c in way.counters] == ["size here", "in Llama-3.1-8B"]
    assert f"Llama-3.1-8B has {LLAMA.n_layers} of them" in log.frames[5].sentence
    assert f"for all {len(WORDS)} words" in log.frames[6].sentence
    chance = shares(1.0, 1.0)[" ball"]
    assert f"“ball”, with probability {chance:.2f}" in log.frames[7].sentence


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loop", {"new": "first time", "idle": "again", "cache": "kept from earlier",
                  "other": "token", "empty": "that comes out"}),
        ("attention_rows", {"new": "the row that looks", "cache": "may look at"}),
        ("way", {"new": "this station", "other": "stations before",
                 "cache": "the two “the”", "empty": "still to come"}),
        ("heat", {}),
    ],
)  # fmt: skip
def test_a_legend_calls_each_ink_as_it_is_counted_above(
    name: str, words: dict[str, str]
) -> None:
    legend = figure(name).legend
    assert set(legend) == set(words)
    assert all(said in legend[ink] for ink, said in words.items())
