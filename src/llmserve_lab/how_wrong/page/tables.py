"""The chapter's tables, every number from the rows, the records or the catalog."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from statistics import mean

import numpy as np

from llmserve_lab.catalog.evidence import serving
from llmserve_lab.catalog.evidence.status import Kind
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.decode_scores import predictions, scores
from llmserve_lab.deepseek.evaluation.predictions import Score, by_status, points
from llmserve_lab.formula.text import si
from llmserve_lab.how_wrong import example
from llmserve_lab.how_wrong.cache_blocks import predicted, reserve
from llmserve_lab.how_wrong.drafts import fits
from llmserve_lab.how_wrong.folds import NAMES, constants_without, folds, span
from llmserve_lab.how_wrong.formulas import RELATIVE_ERROR
from llmserve_lab.how_wrong.pairs import endless, fullest, pairs, ratios
from llmserve_lab.how_wrong.record import (
    SHEET,
    mean_error,
    median_error,
    record,
    row_errors,
    scored,
)
from llmserve_lab.how_wrong.script import LINES
from llmserve_lab.how_wrong.term_by_term import terms
from llmserve_lab.how_wrong.wording import per_cent, signed
from llmserve_lab.page.table import Table
from llmserve_lab.validation import (
    MeasuredRow,
    Predictor,
    achieved,
    dense_rows,
    errors,
)
from llmserve_lab.validation.constants import record as validated
from llmserve_lab.validation.prediction import Kind as TimeKind
from llmserve_lab.validation.rows import refused_rows

SHORT: dict[str, TimeKind] = {"TPOT": "tpot", "end-to-end": "e2e", "TTFT": "ttft"}


def by_hand() -> Table:
    """The example's rows: measured, by the datasheet, by constants left out."""
    true, sheet, book = (example.worked(name) for name in example.MACHINES)
    rows = [
        (own.clients, own.shown, low.shown, low.error, made.shown, made.error)
        for own, low, made in zip(true, sheet, book, strict=True)
    ]
    sheet_words, book_words = (
        (f"size {example.mean_of(each)}", f"bias {example.bias_of(each)}")
        for each in (sheet, book)
    )
    return Table(
        "TPOT of Llama-3.1-70B (FP8) on four H100, vLLM, prompts and answers of about "
        "a thousand tokens",
        ("clients", "measured", "datasheet", "error", "book", "its error"),
        [*rows, ("mean", "", *sheet_words, *book_words)],
        notes=(
            "Datasheet: nothing fitted. Book: cross-validated, by constants that never "
            "saw a row of this model.",
        ),
    )


def iteration() -> Table:
    """The example's token at its largest load, every term with its numbers in."""
    found = terms()
    rows = [(each.name, each.how, f"{1e3 * each.seconds:.3f}") for each in found]
    total = f"{1e3 * sum(each.seconds for each in found):.2f}"
    return Table(
        f"One token of {example.CLIENTS} clients, term by term (calibrated constants)",
        ("term", "with its numbers", "ms"),
        [*rows, ("TPOT, predicted", "the sum", total)],
        notes=(
            "Bytes, FLOPs and messages are those of one GPU of the four.",
            "Counts are means over the iterations in which a request gets its tokens.",
        ),
    )


def yardsticks() -> Table:
    """The book's errors beside what a datasheet, one factor and a tool reach."""
    rows = []
    naive = validated()["yardstick"]
    for words, kind in SHORT.items():
        sheet = per_cent(mean_error(kind, SHEET))
        own = [per_cent(each(kind, "model")) for each in (mean_error, median_error)]
        told = [per_cent(float(each)) for each in serving.TOOL_ERRORS[kind]]
        tool = told if kind != "ttft" else ["–", "–"]
        rows.append((words, sheet, per_cent(naive[kind]["mean"]), *own, *tool))
    return Table(
        "Mean errors (and medians), the model left out of whatever is fitted",
        ("time", "datasheet", "× one factor", "book", "median", "tool", "median"),
        rows,
        notes=(
            f"TPOT and end-to-end: all {len(dense_rows())} rows; TTFT: the "
            f"{len(scored('ttft'))} whose script is published.",
            f"The tool: the {float(serving.TOOL_ROWS):.0f} rows that it answers, seen "
            "as a user would run it. Of TTFT it was scored on rows without a public "
            "script too, which is another question.",
        ),
    )


def same_rows(kind: TimeKind = "tpot") -> tuple[float, float]:
    """Least and most that the book's mean error can be on as many rows as the tool's.

    Which rows the tool does not answer is not stored: they may be the book's best rows,
    or its worst.
    """
    size = np.sort(np.abs(row_errors(kind, "model")))
    kept = round(float(serving.TOOL_ROWS))
    return float(size[:kept].mean()), float(size[-kept:].mean())


@cache
def refused() -> tuple[int, float, float]:
    """Rows refused, their mean TPOT error, and that of all rows if they were kept."""
    own = Predictor(refused_rows())
    reached = constants_without("model", own.rows[0].model)
    size = np.abs(errors(own.predict(reached), own.measured, "tpot"))
    every = np.concatenate([np.abs(row_errors("tpot", "model")), size])
    return len(size), float(size.mean()), float(every.mean())


def constants() -> Table:
    """The constants by name, and the mean error where one is as in the datasheet."""
    reached, off = achieved(), record()["switches"]

    def without(place: int) -> tuple[str, str]:
        key = "".join("0" if i == place else "1" for i in range(5))
        tpot, ttft = (per_cent(each) for each in off[key])
        return tpot, ttft

    rows = [
        (
            words,
            said(getattr(reached, name)),
            "–".join((said(span(name)[0]), said(span(name)[1]))),
            *without(place),
        )
        for name, (words, said, place) in CONSTANTS.items()
    ]
    tpot, ttft = (per_cent(each) for each in off["11111"])
    return Table(
        "Six fitted constants (calibrated), and mean errors without each",
        ("constant", "fitted to all rows", "range of 12 fits", "TPOT", "TTFT"),
        [*rows, ("all in place", "", "", tpot, ttft)],
        notes=(
            "Range: least and most, one model, GPU, engine or precision left out.",
            "TPOT, TTFT: mean error with this constant as in the datasheet, nothing "
            "fitted again. Both shares go together, with the two numbers set beside "
            "them; with the time per layer goes the factor of prompts.",
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


def left_out_by() -> Table:
    """Errors of TPOT with each engine, GPU or precision left out, and its constant."""
    rows = []
    for by in ("model", "engine", "system", "precision"):
        for fold in folds(by):
            layer = f"{1e6 * fold.layer_s:.1f} µs"
            errors_ = (per_cent(fold.mean), signed(fold.bias))
            rows.append((NAMES[fold.left_out], fold.n_predicted, *errors_, layer))
    return Table(
        "Left out of the fit, and then predicted: TPOT",
        ("left out", "rows", "error", "bias", "time per layer"),
        rows,
    )


def coverage() -> Table:
    """Share of the rows left out that lie in their bands, by two rules."""
    tried = validated()["coverage"]["tried"]
    rows = []
    for by in ("model", "engine", "system", "precision"):
        names = tried[by]["tpot"]
        for name in sorted(names, key=lambda each: -names[each][0]):
            n_rows, plain, _, wide = names[name]
            ttft = tried[by]["ttft"].get(name)
            first = per_cent(ttft[3], 0) if ttft else "–"
            cells = (per_cent(plain, 0), per_cent(wide, 0), first)
            rows.append((NAMES[name], n_rows, *cells))
    return Table(
        "Rows inside their 90 % band when all rows of one name are left out",
        ("left out", "rows", "TPOT, plain", "TPOT", "TTFT"),
        rows,
        notes=(
            "Plain: from the 5th to the 95th percentile of the nearest errors.",
            "–: too few rows with a published script remain. H100 cannot be tried: "
            "without it the rows of one model remain.",
        ),
    )


def covered(by: str, kind: TimeKind, *, plain: bool = False) -> float:
    """Share of all rows inside their band, whatever name of a label is left out."""
    found = validated()["coverage"]["tried"][by][kind].values()
    inside = sum(each[0] * each[1 if plain else 3] for each in found)
    return float(inside / sum(each[0] for each in found))


FORMS = {
    "as chosen": "as chosen",
    "nothing hidden": "reading and computing add up",
    "the shorter bill hidden": "the shorter of the two is free",
    "no launches": "a layer costs the same with a prompt",
    "exponent fitted": "the exponent is fitted, too",
    "six constants alone": "none of the three set, exponent fitted",
}


def forms() -> Table:
    """What the error would be with one of the three round numbers set otherwise."""
    found = validated()["forms"]
    rows: list[tuple[str, ...]] = [
        (
            words,
            *(
                per_cent(found[name][key])
                for key in ("tpot, model", "tpot, engine", "ttft, model")
            ),
        )
        for name, words in FORMS.items()
    ]
    return Table(
        "Mean error with another form, all constants fitted again",
        ("form", "TPOT, model left out", "TPOT, engine left out", "TTFT, model"),
        rows,
    )


def seesaw() -> Table:
    """Ratios of times between rows that differ in the engine alone."""
    rows = list[tuple[str | int, ...]]()
    for other in ("sglang", "trtllm"):
        found = ratios(pairs("vllm", other))
        times = (f"{each:.2f}×" for each in (found.ttft, found.tpot, found.e2e))
        rows.append((f"{NAMES[other]} / vLLM", found.n, *times))
    return Table(
        "Measured rows alike but for the engine: medians of the ratios",
        ("engines", "pairs", "TTFT", "TPOT", "answer"),
        rows,
    )


def full_cache() -> list[tuple[MeasuredRow, float, float]]:
    """Rows of the fullest server, their TTFT predicted, and with a cache without end.

    All by the same constants, which never saw the model.
    """
    error = row_errors("ttft", "model")
    places = {id(row): place for place, row in enumerate(dense_rows())}
    return [
        (row, row.ttft_s * (1 + float(error[places[id(row)]])), free)
        for row, free in zip(fullest(), endless(fullest()), strict=True)
    ]


def end_of_the_cache() -> Table:
    """TTFT of one server with more and more clients, measured and predicted."""
    rows = []
    for row, made, free in full_cache():
        times = (si(each, "s") for each in (row.ttft_s, made, free))
        seconds = RELATIVE_ERROR(predicted_s=made, measured_s=row.ttft_s)
        rows.append((str(row.clients), *times, signed(float(seconds), 0)))
    return Table(
        full_server(),
        ("clients", "measured", "predicted", "endless", "error"),
        rows,
        notes=(
            "Predicted: cross-validated, by constants that never saw the model.",
            "Endless: the same constants if the GPU's memory had no end.",
        ),
    )


def full_server() -> str:
    """What the fullest server is, and what it is asked."""
    one = fullest()[0]
    return (
        f"TTFT of {NAMES[one.model]} ({one.precision.upper()}) on one "
        f"{NAMES[one.system]}, {NAMES[one.engine]}, prompts of {one.prompt_len:,} "
        f"tokens, answers of {one.output_len:,}"
    )


def script() -> Table:
    """Errors of the rows with a public protocol, one line of the script forgotten."""
    found = record()["script"]
    rows = [("as it was run", "", *map(per_cent, found["as it was run"]))]
    rows += [
        (line, instead, *map(per_cent, found[line])) for line, instead in LINES.items()
    ]
    return Table(
        "One line of a benchmark's script forgotten: mean errors, calibrated constants",
        ("line", "assumed in its place", "TPOT", "TTFT"),
        rows,
    )


def blocks() -> Table:
    """Published counts of cache blocks, each predicted from the other models."""
    rows = []
    for each in predicted():
        gpu = "H100" if each.record.usable_bytes is None else "RTX 4090"
        name = f"{each.record.model.name}, {each.record.tp} × {gpu}"
        published = int(float(each.record.blocks))
        own = f"{reserve(each.record) / 1e9:.2f} GB"
        counts = (f"{published:,}", f"{each.blocks:,}", signed(each.error))
        rows.append((name, f"{each.record.budget:,}", own, *counts))
    return Table(
        "Blocks of 16 tokens that vLLM found room for (cross-validated)",
        ("server, 16 bits", "token budget", "its reserve", "published", "predicted",
         "error"),
        rows,
        notes=(
            "Published: what vLLM printed at start, from published run logs and "
            "configurations, utilisation 0.9; a setting listed twice has two logs.",
            "Its reserve: what the published count leaves over on each GPU. The "
            "prediction uses the mean of the other models' instead.",
        ),
    )  # fmt: skip


def worst_block_error() -> float:
    """The largest error of a count, in size."""
    return max(abs(each.error) for each in predicted())


def mean_block_error() -> float:
    """Mean size of the errors of the counts."""
    return mean(abs(each.error) for each in predicted())


RATES, STEPS = "tokens per second of a GPU", "time of a decode step"


def twin_scores() -> dict[tuple[str, Kind], Score]:
    """Scores of DeepSeek's twin, by what was published and by status."""
    assumed = book_assumptions()
    rates = by_status((each.status, each.error) for each in points(assumed))
    steps = scores(predictions(assumed))
    found = {(RATES, each.status): each for each in rates}
    return found | {(STEPS, each.status): each for each in steps}


def elsewhere() -> Table:
    """What else the book predicts, each with its kind of score, in one table."""
    rows: list[tuple[str, ...]] = []
    for (what, status), has in sorted(twin_scores().items(), reverse=True):
        numbers = (f"{has.n_runs} runs", per_cent(has.mean_error), signed(has.bias))
        rows.append((f"DeepSeek-V3's twin: {what}", status, *numbers))
    rows.append(("DeepSeek-V3's twin, unseen runs", "blind", "none yet", "–", "–"))
    for law in ("constant", "falling"):
        found = [getattr(each, f"{law}_error") for each in fits()]
        size, lean = mean(map(abs, found)), mean(found)
        rows.append(
            (
                f"accepted drafts, {law} acceptance",
                "seen",
                f"{len(found)} curves",
                per_cent(size),
                signed(lean),
            )
        )
    for name, cells in afd_rules().items():
        rows.append((f"AFD, {name}", "simulated", cells[1], cells[0], "–"))
    return Table(
        "Other predictions of the book beside what there is",
        ("prediction", "kind", "beside", "mean error", "bias"),
        rows,
        notes=(
            "AFD, Attention–FFN disaggregation: median error of the throughput, beside "
            "a simulator that shares the rule's assumptions; no real machine.",
        ),
    )


RULES = {
    "the paper's form": "rule as its paper prints it",
    "our rule": "corrected rule",
}


def afd_rules() -> dict[str, tuple[str, str, str]]:
    """Of each rule of disaggregation: median error, how many bundles, the worst."""
    found = record()["afd"]
    count = found["caption"].split(",")[0]
    return {
        RULES[name]: (_spaced(cells[0]), count, _spaced(cells[2]))
        for name, *cells in found["rows"]
    }


def _spaced(share: str) -> str:
    return share.replace("%", " %")
