"""One round of speculative decoding, stepped: drafts, checks, the token at the end.

Both logs are first passes of real runs on the chapter's two transformers; the words,
the chances and the random numbers are those of the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from llmserve_lab.page.step.figure import Counter, Frame, StepFigure, StepLog
from llmserve_lab.page.step.marks import Cells, Labels, Scene, SceneAxis
from llmserve_lab.speculative import toy
from llmserve_lab.speculative.decoding import Round, speculate
from llmserve_lab.speculative.verification import residual

N_DRAFT = 4
REJECTED, KEPT = "rejected at the second draft", "all kept, and a bonus"
SEEDS = {REJECTED: 2, KEPT: 3}  # of the random numbers that both models draw from
ROWS = ("draft", "q, draft", "p, target", "min(1, p/q)", "random", "kept?")
LEFT, FLOOR, TALL = -1.8, 11.6, 3.4  # left edge; where bars stand, and how high
SHOWN = 5  # words whose chances are drawn one by one
Row = dict[str, Any]


def first_pass(log: str) -> Round:
    """The first pass of a run with this log's seed."""
    rng = np.random.default_rng(SEEDS[log])
    reader, drafter = toy.reader("target"), toy.drafter("small model")
    prompt = toy.tokenize(toy.PROMPT)
    return speculate(reader, drafter, prompt, 1, N_DRAFT, rng)[0]


def target_laws(done: Round) -> list[Any]:
    """The target's law at each place of the chain, and after it."""
    tokens = done.drafts.tokens
    return [
        toy.next_law("target", (*done.text, *tokens[:place]))
        for place in range(len(tokens) + 1)
    ]


def round_steps() -> StepFigure:
    """Four drafts of the small model, checked by one pass of the target."""
    return StepFigure(
        name="one-round",
        title="Guess four words, check them in one pass, keep what the target allows",
        scene=Scene(
            x=SceneAxis((LEFT, N_DRAFT + 1), shown=False),
            y=SceneAxis((FLOOR + 1.7, -1.5), shown=False),
            marks=(
                Cells(table="cells", x2="x2", y2="y2", text="text"),
                Cells(table="bars", x2="x2", y2="y2"),
                Labels(table="names", align="left"),
                Labels(table="words"),
            ),
            height=420,
            width=620,
            fixed={"names": _names()},
        ),
        logs={log: _log(first_pass(log)) for log in SEEDS},
        start=8,
        stills=((REJECTED, 5), (REJECTED, 8), (KEPT, 10)),
        legend={
            "A": "q, of the draft model",
            "new": "p, of the target; words that stay",
            "compute": "residual: the part of p above q",
            "other": "the check",
            "empty": "not yet, or not needed",
        },
        counters=(Counter("words of this pass"), Counter("passes of the target")),
    )


def _names() -> list[Row]:
    return [{"x": LEFT, "y": row + 0.5, "text": name} for row, name in enumerate(ROWS)]


def _log(done: Round) -> StepLog:
    frames, cells, bars = _start(done)
    words: list[Row] = [_sentence_row(done.text, 0, None)]
    checks = done.verdict.checks
    first = N_DRAFT + 2  # frame of the first check
    for place, check in enumerate(checks):
        at = first + place
        frames.append(Frame(_said(done, place), (place + int(check.kept), 1)))
        cells += _checked(done, place, at)
        bars += _bars(done, place, at, at + 1, words)
    last = first + len(checks)
    place = len(checks) - (0 if done.verdict.bonus else 1)
    frames.append(Frame(_ending(done), (len(done.verdict.tokens), 1)))
    cells += _ended(done, last)
    bars += _bars(done, place, last, None, words)
    words[0]["until"] = last
    words.append(_sentence_row((*done.text, *done.verdict.tokens), last, None))
    return StepLog(tuple(frames), {"cells": cells, "bars": bars, "words": words})


def _sentence_row(text: tuple[int, ...], since: int, until: int | None) -> Row:
    """The last words of the text, above the columns."""
    shown = " ".join(toy.WORDS[token] for token in text[-7:])
    row: Row = {"x": (LEFT + N_DRAFT + 1) / 2, "y": -0.9, "text": f"… {shown} …"}
    row["since"] = since
    return row if until is None else row | {"until": until}


def _cell(column: int, row: int, ink: str, text: str, since: int) -> Row:
    place = {"x": column, "x2": column + 1, "y": row, "y2": row + 1}
    return place | {"ink": ink, "text": text, "since": since}


def _start(done: Round) -> tuple[list[Frame], list[Row], list[Row]]:
    """The text, the drafts one by one, and the pass of the target."""
    tokens, laws = done.drafts.tokens, done.drafts.laws
    last = toy.WORDS[done.text[-1]]
    frames = [
        Frame(
            f"The text ends with “{last}”. The draft model is to guess four words.",
            (0, 0),
        )
    ]
    cells = [
        _cell(column, row, "empty", "", 0)
        for column in range(N_DRAFT)
        for row in range(5)
    ]
    for place, (token, law) in enumerate(zip(tokens, laws, strict=True)):
        word, chance = toy.WORDS[token], law[token]
        frames.append(
            Frame(
                f"Pass {place + 1} of the draft model: it draws “{word}”, to which it "
                f"gave a chance of {chance:.3f}.",
                (0, 0),
            )
        )
        cells.append(_cell(place, 0, "A", word, place + 1))
        cells.append(_cell(place, 1, "A", f"{chance:.3f}", place + 1))
    verified = N_DRAFT + 1
    frames.append(
        Frame(
            f"One pass of the target over {N_DRAFT + 1} rows, “{last}” and the four "
            "drafts, gives its chance p of every draft, and of each word after them.",
            (0, 1),
        )
    )
    for place, (token, law) in enumerate(zip(tokens, target_laws(done), strict=False)):
        cells.append(_cell(place, 2, "new", f"{law[token]:.3f}", verified))
    return frames, cells, []


def _checked(done: Round, place: int, at: int) -> list[Row]:
    check = done.verdict.checks[place]
    found = [
        _cell(place, 3, "other", f"{check.chance:.2f}", at),
        _cell(place, 4, "other", f"{check.drawn:.2f}", at),
        _cell(place, 5, *(("new", "yes") if check.kept else ("other", "no")), at),
    ]
    if not check.kept:
        found += [
            _cell(later, 5, "empty", "", at) for later in range(place + 1, N_DRAFT)
        ]
    return found


def _ended(done: Round, at: int) -> list[Row]:
    """The last token, below the draft that it replaces or behind all of them."""
    place, word = len(done.verdict.kept), toy.WORDS[done.verdict.last]
    return [_cell(place, 6, "new", word, at)]


def _bars(
    done: Round, place: int, since: int, until: int | None, words: list[Row]
) -> list[Row]:
    """Chances of the likeliest words by both laws, and the residual where it counts."""
    p = target_laws(done)[place]
    q = done.drafts.laws[place] if place < N_DRAFT else np.zeros_like(p)
    order = np.argsort(-np.maximum(p, q), kind="stable")
    rest, slots = order[SHOWN:], [[token] for token in order[:SHOWN]]
    groups = {  # of a group like these the residual is the difference, or nothing
        "p > q": [token for token in rest if p[token] > q[token]],
        "p ≤ q": [token for token in rest if p[token] <= q[token]],
    }
    if place >= N_DRAFT:  # nothing was drafted here: there is no q
        groups = {"": list(rest)}
    beyond = [said for said, slot in groups.items() if slot]
    slots += [groups[said] for said in beyond]
    ends = until is None and place < N_DRAFT
    left = np.maximum(p - q, 0)
    alive: Row = {"since": since} | ({} if until is None else {"until": until})
    largest = max(float(max(p[slot].sum(), q[slot].sum())) for slot in slots)
    high = TALL / max(largest, 0.3)
    width = (N_DRAFT + 1 - LEFT) / len(slots)
    before = toy.WORDS[(*done.text, *done.drafts.tokens)[len(done.text) + place - 1]]
    both = "q and p" if place < N_DRAFT else "p"
    told = f"likeliest words after “{before}”: {both}"
    words.append({"x": (LEFT + N_DRAFT + 1) / 2, "y": 7.6, "text": told} | alive)
    found: list[Row] = []
    for place_of, slot in enumerate(slots):
        x = LEFT + place_of * width
        shown, above = (float(law[slot].sum()) for law in (p, left))
        for chance, ink, shift in ((q[slot].sum(), "A", 0.12), (shown, "new", 0.5)):
            low = FLOOR - high * float(chance)
            bar = {"x": round(x + shift * width, 3), "y": round(low, 3), "ink": ink}
            end = {"x2": round(x + (shift + 0.36) * width, 3), "y2": FLOOR}
            found.append(bar | end | alive)
        if ends and above > 0:
            x_bar = x + 0.5 * width
            top = FLOOR - high * shown
            found.append(
                {
                    "x": round(x_bar, 3),
                    "x2": round(x_bar + 0.36 * width, 3),
                    "y": round(top, 3),
                    "y2": round(top + high * above, 3),
                    "ink": "compute",
                }
                | alive
            )
        single = place_of < SHOWN
        other = f"{len(slot)} with" if place < N_DRAFT else f"{len(slot)} others"
        name = toy.WORDS[slot[0]] if single else other
        middle = round(x + width / 2, 3)
        words.append({"x": middle, "y": FLOOR + 0.5, "text": name} | alive)
        if not single and place < N_DRAFT:
            named = beyond[place_of - SHOWN]
            words.append({"x": middle, "y": FLOOR + 1.2, "text": named} | alive)
    return found


def _said(done: Round, place: int) -> str:
    check = done.verdict.checks[place]
    word = toy.WORDS[check.token]
    ratio = f"p/q = {check.target:.3f}/{check.draft:.3f}"
    if check.target >= check.draft:
        rule = f"{ratio} is at least 1, so “{word}” is kept whatever is drawn"
    else:
        rule = f"{ratio} = {check.chance:.2f}; the number drawn is {check.drawn:.2f}"
    if check.kept:
        after = "." if check.target >= check.draft else f", below it: “{word}” is kept."
        return f"Draft {place + 1}: {rule}{after}"
    dropped = N_DRAFT - place - 1
    more = f" The {dropped} drafts after it are dropped." if dropped else ""
    return f"Draft {place + 1}: {rule}, above it: “{word}” is rejected.{more}"


def _ending(done: Round) -> str:
    word, count = toy.WORDS[done.verdict.last], len(done.verdict.tokens)
    if done.verdict.bonus:
        return (
            f"All four are kept, and the target's p after them gives a bonus word, "
            f"“{word}”: {count} words for one pass of the target."
        )
    place = len(done.verdict.kept)
    more = residual(target_laws(done)[place], done.drafts.laws[place])
    chance = more[done.verdict.last]
    return (
        f"In its place a word is drawn from the residual: “{word}”, which had a chance "
        f"of {chance:.2f} there. {count} words for one pass of the target."
    )
