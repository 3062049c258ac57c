"""One pass through the model, stepped: from the text to the next token.

The small model has run; each band shows what it made of the prompt at that station.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from llmserve_lab import catalog
from llmserve_lab.end_to_end import tokens
from llmserve_lab.end_to_end.story import PROMPT, WORDS, model, tokenize
from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Links, Scene, SceneAxis
from llmserve_lab.transformer import PLAIN
from llmserve_lab.transformer.arithmetic import Array
from llmserve_lab.transformer.sampling import chances

Row = dict[str, Any]
BANDS = ("text", "tokens", "ids", "vectors", "block 1", "block 2", "guesses", "choice")
FIRST, WIDE = 1.7, 1.64  # where the tokens' columns begin, and their width
LLAMA = "llama-3.1-8b"
IDS, SEAM = BANDS.index("ids"), 0.9
SHOWN = 1  # of the numbers of a row: the one whose rounded values differ
TWICE = (1, 3)  # columns of the word that stands twice
MARKED = {"vectors": "equal", "block 1": "different"}


def way() -> StepFigure:
    """The stations of a pass, one a frame; the last frame appends the new token."""
    frames, rows = _frames(), _rows()
    return StepFigure(
        name="one-pass",
        title="One pass: text in, one new token out",
        scene=Scene(
            x=SceneAxis((0, 10), shown=False),
            y=SceneAxis((len(BANDS) + SEAM, 0), shown=False),
            marks=(
                Links(table="seam", width="width", arrow=False),
                Cells(table="cells", x2="x2", y2="y2", text="text"),
                Labels(table="names", align="left"),
                Labels(table="marked", align="left"),
            ),
            height=round(26 * (len(BANDS) + SEAM)),
            fixed={"names": _names(), "seam": _seam()},
        ),
        logs={"pass": StepLog(frames, {"cells": rows, "marked": _marked()})},
        stills=(("pass", 3), ("pass", 4), ("pass", 8)),
        start=BANDS.index("block 1"),
        legend={
            "new": "this station",
            "other": "stations before",
            "cache": "the two “the”",
            "empty": "still to come",
        },
        counters=(Counter("size here"), Counter("in Llama-3.1-8B")),
    )


def _names() -> list[Row]:
    found = [{"x": 0, "y": _top(y) + 0.5, "text": name} for y, name in enumerate(BANDS)]
    said = f"↓ toy model; a box: one of its row’s {model().shape.d_model} numbers"
    return [*found, {"x": 0, "y": IDS + 1 + 0.65 * SEAM, "text": said}]


def _seam() -> list[Row]:
    """A line between what is Llama's and what the small model computes."""
    y = IDS + 1 + 0.15 * SEAM
    return [{"x": 0, "x2": 10, "y": y, "y2": y, "width": 1, "ink": "other"}]


def _marked() -> list[Row]:
    """What becomes of the two rows of one word, beside them."""
    end = FIRST + WIDE * (TWICE[-1] + 1) + 0.1
    until = BANDS.index("block 1") + 1
    return [
        {"x": end, "y": _top(y) + 0.5, "text": f"← {said}", "since": y, "until": until}
        for y, said in ((BANDS.index(band), said) for band, said in MARKED.items())
    ]


def _top(band: int) -> float:
    """Where a band begins: those after the ids lie below the seam."""
    return band + (SEAM if band > IDS else 0.0)


def stations() -> dict[str, Array]:
    """Rows [n, d] by station, and the logits [n, V], as the small model made them."""
    seen: dict[str, Array] = {}

    def note(name: str, _axes: str, array: npt.NDArray[Any]) -> None:
        seen[name] = np.asarray(array)

    model().forward(tokenize(PROMPT), run=replace(PLAIN, note=note))
    named = {"vectors": "embedding", "guesses": "logits"}
    named |= {f"block {i}": f"block {i} / + residual, output" for i in (1, 2)}
    return {band: seen[name] for band, name in named.items()}


def _texts() -> dict[str, list[str]]:
    """What stands in each band, a text a column."""
    found = stations()
    words = tokens.pieces(PROMPT)
    shown = {
        "text": [PROMPT],
        "tokens": [word.replace(" ", "␣") for word in words],
        "ids": [f"{token:,}" for token in tokens.encode(PROMPT)],
    }
    for band in ("vectors", "block 1", "block 2"):
        shown[band] = [_short(row[SHOWN]) for row in found[band]]
    best = found["guesses"].argmax(axis=-1)
    shown["guesses"] = [WORDS[i].replace(" ", "␣") for i in best]
    return shown


def _short(number: float) -> str:
    """A number of a row, with a real minus sign: one of them fits on a phone, too."""
    return f"{round(float(number), 2) + 0.0:.2f}".replace("-", "−")


def _rows() -> list[Row]:
    """Cells by band: pale before their station, in full colour at it, grey after."""
    found: list[Row] = []
    for y, (band, texts) in enumerate(_texts().items()):
        span = 4 * WIDE if band == "text" else WIDE
        for column, text in enumerate(texts):
            twice = band in MARKED and column in TWICE
            found += _stages(_place(column, y, span), text, y, twice=twice)
    y, word = len(BANDS) - 1, _likeliest()[0].replace(" ", "␣")
    found += _stages(_place(3, y, WIDE), word, y)
    found.append({**_place(4, 1, WIDE), "text": word, "ink": "new", "since": y + 1})
    return found


def _stages(place: Row, text: str, y: int, *, twice: bool = False) -> list[Row]:
    """A cell of station ``y``: before, at and after it; ``twice``: of the same word."""
    if twice:
        until = BANDS.index("block 1") + 1
        return [
            {**place, "text": "", "ink": "empty", "until": y},
            {**place, "text": text, "ink": "cache", "since": y, "until": until},
            {**place, "text": text, "ink": "other", "since": until},
        ]
    return [
        {**place, "text": "", "ink": "empty", "until": y},
        {**place, "text": text, "ink": "new", "since": y, "until": y + 1},
        {**place, "text": text, "ink": "other", "since": y + 1},
    ]


def _place(column: int, y: int, span: float) -> Row:
    x = FIRST + WIDE * column
    top = _top(y)
    edges = {"x": x + 0.04, "x2": x + span - 0.04}
    return {**edges, "y": top + 0.08, "y2": top + 0.92}


def _likeliest() -> tuple[str, float]:
    """The likeliest next token, and its probability."""
    found = chances(stations()["guesses"][-1])
    best = int(np.argmax(found))
    return WORDS[best], float(found[best])


def _frames() -> tuple[Frame, ...]:
    large, small = catalog.model(LLAMA), model().shape
    n, (word, chance) = len(tokens.pieces(PROMPT)), _likeliest()
    rows = (f"{n} × {small.d_model}", f"{n} × {large.d_model:,}")
    scores = (f"{n} × {small.vocab}", f"{n} × {large.vocab:,}")
    last = large.n_layers
    said = (
        ("The prompt is text.", (f"{len(PROMPT)} characters",) * 2),
        ("It is cut into tokens; ␣ stands for a space.", (f"{n} tokens",) * 2),
        ("Each token has a number, its id, in a fixed list.", (f"{n} ids",) * 2),
        (
            "Each id is looked up in a table: one row of numbers a token. "
            "The two “the” have equal rows.",
            rows,
        ),
        (
            "Block 1: each row has looked at the rows before it. The two “the” "
            "were equal and are different now.",
            rows,
        ),
        (f"The next block does the same again. Llama-3.1-8B has {last} of them.", rows),
        (
            f"A last matrix gives each row a score for all {small.vocab} words; "
            "a box shows the word that scores highest.",
            scores,
        ),
        (
            f"Only the last row counts. Its likeliest word is “{word.strip()}”, with "
            f"probability {chance:.2f}; this pass takes it.",
            ("1 token",) * 2,
        ),
        (
            f"“{word.strip()}” is appended, and the next pass begins.",
            (f"{n + 1} tokens",) * 2,
        ),
    )
    return tuple(Frame(sentence, counters) for sentence, counters in said)
