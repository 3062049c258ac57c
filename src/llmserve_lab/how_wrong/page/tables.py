"""The chapter's tables, every number from the rows, the records or the catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from llmserve_lab.catalog.evidence import serving
from llmserve_lab.formula.text import signed
from llmserve_lab.how_wrong import example, fairness
from llmserve_lab.how_wrong.folds import NAMES, folds, span
from llmserve_lab.how_wrong.record import (
    ENOUGH,
    SHEET,
    bias,
    ends_of,
    mean_ends,
    mean_error,
    scored,
    switched_errors,
)
from llmserve_lab.how_wrong.term_by_term import terms
from llmserve_lab.how_wrong.wording import bare_ends, per_cent, with_ends
from llmserve_lab.page.table import Table
from llmserve_lab.validation import (
    achieved,
    dense_rows,
)
from llmserve_lab.validation.constants import record as validated
from llmserve_lab.validation.prediction import Kind as TimeKind

TIMES: tuple[TimeKind, ...] = ("tpot", "ttft")


BOOTSTRAP = (
    "In brackets: bootstrap, constants kept; of fewer than "
    f"{ENOUGH} servers it would be too narrow, and none is given."
)


def scored_as(kind: TimeKind, left: str) -> str:
    """A mean error with its interval, of all rows that the kind is scored on."""
    return bare_ends(mean_error(kind, left), mean_ends(kind, left))


def stored_as(score: Mapping[str, float]) -> str:
    """A score of the record as it is printed."""
    ends = (score["low"], score["high"]) if "low" in score else None
    return bare_ends(score["mean"], ends)


def by_hand() -> Table:
    """The example's rows: measured, by the datasheet, by constants left out."""
    true, sheet, book = (example.worked(name) for name in example.MACHINES)
    rows = [
        tuple(
            str(cell).removesuffix(" ms").removesuffix("\N{NO-BREAK SPACE}%")
            for cell in (own.clients, own.shown, made.shown, made.error, low.error)
        )
        for own, low, made in zip(true, sheet, book, strict=True)
    ]
    ends = [
        (words, "", "", *(each.removesuffix("\N{NO-BREAK SPACE}%") for each in two))
        for words, two in (
            ("mean error", (example.mean_of(book), example.mean_of(sheet))),
            ("bias", (example.bias_of(book), example.bias_of(sheet))),
        )
    ]
    return Table(
        "TPOT in ms, errors in per cent: Llama-3.1-70B (FP8) on four H100, vLLM, "
        "lengths of up to 1,024 tokens",
        ("clients", "measured", "book", "its error", "datasheet"),
        [*rows, *ends],
        notes=(
            "Book: by constants that never saw a row of this model (cross-validated). "
            "Datasheet: the error of the datasheet alone.",
        ),
    )


def groups() -> Table:
    """Errors by what was left out: each group for itself, and all rows together."""
    rows: list[tuple[str | int, ...]] = []
    for by in ("model", "engine"):
        for fold in folds(by):
            errors = (bare_ends(fold.mean, fold.ends), _bias(fold.bias))
            counts = (fold.n_predicted, fold.n_servers)
            rows.append((NAMES[fold.left_out], *counts, *errors))
        mean = bare_ends(mean_error("tpot", by), mean_ends("tpot", by))
        pooled = (mean, _bias(bias("tpot", by)))
        counts = (len(dense_rows()), sum(fold.n_servers for fold in folds(by)))
        rows.append((f"all, {by} by {by}", *counts, *pooled))
    rows += [_shaped(words) for words in fairness.SHAPES]
    return Table(
        "TPOT where the fit has not seen the model or the engine, errors in per cent "
        "(cross-validated)",
        ("left out", "rows", "servers", "mean error", "bias"),
        rows,
        notes=(
            "Last three lines: the model left out, by lengths (long: at least four "
            "times the other length).",
            BOOTSTRAP,
        ),
    )


def _shaped(words: str) -> tuple[str | int, ...]:
    """The line of rows whose prompts and answers are alike in shape."""
    own, error = fairness.shaped(words)
    mean = bare_ends(float(np.abs(error).mean()), ends_of(np.abs(error), own))
    counts = (len(own), len({row.server for row in own}))
    return (words, *counts, mean, _bias(float(error.mean())))


def _bias(share: float) -> str:
    """A signed share in a column of per cent."""
    return signed(share, 1).removesuffix("\N{NO-BREAK SPACE}%")


def iteration() -> Table:
    """The example's token at its largest load, every term with its numbers in."""
    found = terms()
    rows = [(each.name, each.how, f"{1e3 * each.seconds:.3f}") for each in found]
    total = f"{1e3 * sum(each.seconds for each in found):.2f}"
    return Table(
        f"One token of {example.CLIENTS} clients, term by term (in-sample constants)",
        ("term", "with its numbers", "ms"),
        [*rows, ("TPOT", "the sum", total)],
        notes=(
            "Bytes, FLOPs and messages of one GPU of the four; counts are means over "
            "the iterations in which a request gets its tokens, and some of the "
            f"{example.CLIENTS} clients then wait for their prompts. Read are all "
            "weights but the embedding table; computed are the layers, without the "
            "output head.",
        ),
    )


def yardsticks() -> Table:
    """The book's errors beside what a datasheet, one factor and a tool reach."""
    naive, tool = validated()["yardstick"], serving.TOOL_ERRORS
    bare = validated()["forms"]["six constants alone"]
    rows: list[tuple[str, ...]] = [
        ("datasheet", *(scored_as(each, SHEET) for each in TIMES)),
        ("× one factor", *(stored_as(naive[each]) for each in TIMES)),
        ("the tool", bare_ends(float(tool["tpot"][0]), None), "–"),
        ("book, nothing set by hand", *(_form(bare, each) for each in TIMES)),
        ("book", *(scored_as(each, "model") for each in TIMES)),
    ]
    return Table(
        "Mean errors in per cent, the model left out of whatever is fitted",
        ("predicted by", "TPOT", "TTFT"),
        rows,
        notes=(
            f"TPOT: all {len(dense_rows())} rows (cross-validated); TTFT: the "
            f"{len(scored('ttft'))} whose script is published, all of one model "
            "(seen).",
            "× one factor: the datasheet’s time, times the median of measured over "
            "predicted of the other models’ rows.",
            "The tool: aiconfigurator 0.12.0, run for this comparison as a user would; "
            f"the {float(serving.TOOL_ROWS):.0f} rows that it answers. Whether its "
            "authors tuned it on them is not said. Its TTFT was scored on other rows "
            "too and is not shown; its errors row by row were not kept, so it has no "
            "interval.",
        ),
    )


def _form(found: Mapping[str, Any], kind: TimeKind) -> str:
    """Another form's score, the model left out."""
    key = f"{kind}, model"
    low, high = found["intervals"][key]
    return bare_ends(found[key], (low, high))


def constants() -> Table:
    """The constants by name, and the mean error where one is as in the datasheet."""
    reached = achieved()
    rows = []
    for name, (words, said, place) in CONSTANTS.items():
        errors = switched_errors(place)
        three = (errors.alone, errors.tpot, errors.ttft)
        cells = ["as above" if name == "compute" else with_ends(*x) for x in three]
        least, most = span(name)
        ends = f"{said(least)}–{said(most)}"
        rows.append((words, said(getattr(reached, name)), ends, *cells))
    everything = switched_errors(len(CONSTANTS))
    tpot, ttft = (with_ends(*each) for each in (everything.tpot, everything.ttft))
    return Table(
        "Six fitted constants (in-sample), and mean errors with or without their terms",
        (
            "constant",
            "fitted",
            "range of 12 fits",
            "TPOT, alone",
            "TPOT, without",
            "TTFT, without",
        ),
        [*rows, ("all in place", "", "", "", tpot, ttft)],
        notes=(
            "Range: least and most, one model, GPU, engine or precision left out.",
            "Alone: only this term is as fitted; without: only this one is as in the "
            "datasheet. Nothing is fitted again. Both shares go together, with the "
            "overlap and the gain from fewer bits; with the time per layer goes the "
            "factor for prompts.",
            BOOTSTRAP,
        ),
    )


def _micro(seconds: float) -> str:
    return f"{1e6 * seconds:.2f} µs"


def _milli(seconds: float) -> str:
    return f"{1e3 * seconds:.1f} ms"


def _share(share: float) -> str:
    return f"{share:.3f}"


# Words for a constant, how it is printed, and the switch that takes it away.
CONSTANTS: dict[str, tuple[str, Callable[[float], str], int]] = {
    "memory": ("share of the memory bandwidth", _share, 0),
    "compute": ("share of the 16-bit peak", _share, 0),
    "link": ("share of the link", _share, 1),
    "layer_s": ("time per layer", _micro, 2),
    "request_s": ("time per request", _micro, 3),
    "client_s": ("time of the client, in TTFT alone", _milli, 4),
}


def coverage() -> Table:
    """Each name left out: TPOT's error, and rows inside their bands by two rules."""
    tried = validated()["coverage"]["tried"]
    rows = []
    for by in ("model", "engine", "system", "precision"):
        for fold in folds(by):
            name = fold.left_out
            tpot, ttft = (tried[by][kind].get(name) for kind in ("tpot", "ttft"))
            plain, wide = (per_cent(tpot[i], 0) if tpot else "–" for i in (1, 3))
            first = per_cent(ttft[3], 0) if ttft else "–"
            error = with_ends(fold.mean, fold.ends)
            rows.append((NAMES[name], fold.n_predicted, error, plain, wide, first))
    return Table(
        "All rows of one group left out: error of TPOT (cross-validated), and rows "
        "inside bands meant to hold 90 %",
        ("left out", "rows", "error", "plain, TPOT", "book’s, TPOT", "book’s, TTFT"),
        rows,
        notes=(
            "Book’s: in-sample, since the exponents of the book’s band were chosen on "
            "these rows. The figure above chooses them again.",
            "–: too few rows with a published script remain. No band without H100: "
            "then the rows of one model remain.",
            BOOTSTRAP,
        ),
    )
