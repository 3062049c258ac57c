"""The chapter's tables, every number from the rows, the records or the catalog."""

from __future__ import annotations

from statistics import mean

import numpy as np

from llmserve_lab.catalog.evidence import serving
from llmserve_lab.catalog.evidence.status import Kind
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.decode_scores import predictions, scores
from llmserve_lab.deepseek.evaluation.predictions import Score, by_status, points
from llmserve_lab.formula.text import si
from llmserve_lab.how_wrong.drafts import fits
from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.pairs import endless, fullest, pairs, ratios
from llmserve_lab.how_wrong.record import (
    mean_error,
    median_error,
    record,
    row_errors,
)
from llmserve_lab.how_wrong.script import LINES
from llmserve_lab.how_wrong.wording import per_cent, signed
from llmserve_lab.page.table import Table
from llmserve_lab.validation import achieved, dense_rows
from llmserve_lab.validation.cache_blocks import predicted
from llmserve_lab.validation.constants import record as validated
from llmserve_lab.validation.prediction import Kind as TimeKind

SHORT: dict[str, TimeKind] = {"TPOT": "tpot", "end-to-end": "e2e", "TTFT": "ttft"}


def beside_the_tool() -> Table:
    """The book's errors, its model left out, and those of the best public tool."""
    rows = []
    for words, kind in SHORT.items():
        tool = [per_cent(float(each)) for each in serving.TOOL_ERRORS[kind]]
        size = np.abs(row_errors(kind, "model"))
        own = [per_cent(float(each)) for each in (size.mean(), np.median(size))]
        rows.append((words, *own, *tool))
    own = [per_cent(each("ttft", "model")) for each in (mean_error, median_error)]
    rows.append(("TTFT, public", *own, "–", "–"))
    return Table(
        f"Sizes of errors, mean and median: the book on {len(dense_rows())} measured "
        f"rows, the tool on the {float(serving.TOOL_ROWS):.0f} that it answers",
        ("time", "book", "median", "tool", "median"),
        rows,
        notes=(
            "Public: rows whose benchmark's script is published.",
            "The tool is not fitted to these rows, and covers far more models, GPUs "
            "and settings.",
        ),
    )


def constants() -> Table:
    """The constants by name, and the mean error where one is as in the datasheet."""
    reached, off = achieved(), record()["switches"]

    def without(place: int) -> tuple[str, str]:
        key = "".join("0" if i == place else "1" for i in range(5))
        tpot, ttft = (per_cent(each) for each in off[key])
        return tpot, ttft

    both = without(0)
    rows = [
        ("share of the memory bandwidth", f"{reached.memory:.3f}", *both),
        ("share of the 16-bit peak", f"{reached.compute:.3f}", *both),
        ("share of the link", f"{reached.link:.3f}", *without(1)),
        ("time per layer", si(reached.layer_s, "s"), *without(2)),
        ("time per request", si(reached.request_s, "s"), *without(3)),
        ("time of the client (TTFT alone)", si(reached.client_s, "s"), *without(4)),
    ]
    tpot, ttft = (per_cent(each) for each in off["11111"])
    return Table(
        "Six fitted constants, and the mean errors if one is as in the datasheet",
        ("constant", "fitted", "TPOT", "TTFT"),
        [*rows, ("all in place", "", tpot, ttft)],
        notes=(
            "Both shares are switched off together, and with them the overlap and the "
            "exponent below; with the time per layer go the launches of a prompt.",
            "Nothing is fitted again after a constant is taken away.",
        ),
    )


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


def end_of_the_cache() -> Table:
    """TTFT of one server with more and more clients, measured and predicted."""
    error = row_errors("ttft", "model")
    places = {id(row): place for place, row in enumerate(dense_rows())}
    rows = []
    for row, free in zip(fullest(), endless(fullest()), strict=True):
        made = row.ttft_s * (1 + float(error[places[id(row)]]))
        times = (si(each, "s") for each in (row.ttft_s, made, free))
        rows.append((str(row.clients), *times))
    one = fullest()[0]
    return Table(
        f"TTFT of {NAMES[one.model]} ({one.precision.upper()}) on one "
        f"{NAMES[one.system]}, {NAMES[one.engine]}, prompts of {one.prompt_len:,} "
        f"tokens, answers of {one.output_len:,}",
        ("clients", "measured", "predicted", "endless"),
        rows,
        notes=(
            "Predicted: by constants that never saw the model.",
            "Endless: the same if the GPU's memory had no end.",
        ),
    )


def script() -> Table:
    """Errors of the rows with a public protocol, one line of the script forgotten."""
    found = record()["script"]
    rows = [("as it was run", "", *map(per_cent, found["as it was run"]))]
    rows += [
        (line, instead, *map(per_cent, found[line])) for line, instead in LINES.items()
    ]
    return Table(
        "One line of a benchmark's script forgotten: mean errors",
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
        rows.append((name, f"{published:,}", f"{each.blocks:,}", signed(each.error)))
    return Table(
        "Blocks of KV cache that vLLM found room for, its model left out of the fit",
        ("server", "published", "predicted", "error"),
        rows,
    )


def worst_block_error() -> float:
    """The largest error of a count, in size."""
    return max(abs(each.error) for each in predicted())


def mean_block_error() -> float:
    """Mean size of the errors of the counts."""
    return mean(abs(each.error) for each in predicted())


RATES, STEPS = "tokens per second of a GPU", "time of a decode step"
STATUSES: tuple[Kind, ...] = ("seen", "calibrated", "blind")


def twin_scores() -> dict[tuple[str, Kind], Score]:
    """Scores of DeepSeek's twin, by what was published and by status."""
    assumed = book_assumptions()
    rates = by_status((each.status, each.error) for each in points(assumed))
    steps = scores(predictions(assumed))
    found = {(RATES, each.status): each for each in rates}
    return found | {(STEPS, each.status): each for each in steps}


def twin() -> Table:
    """The twin's runs apart by whether they were seen, calibrated or blind."""
    found = twin_scores()
    rows: list[tuple[str, ...]] = []
    for status in STATUSES:
        own = [what for what, kind in found if kind == status]
        for what in own:
            has = found[what, status]
            numbers = (per_cent(has.mean_error), signed(has.bias))
            rows.append((status, what, str(has.n_runs), *numbers))
        if not own:
            rows.append((status, "–", "none yet", "–", "–"))
    return Table(
        "DeepSeek-V3's twin beside published runs",
        ("status", "what was published", "runs", "error", "bias"),
        rows,
    )


def drafts() -> Table:
    """Two laws for accepted drafts, at the last point of each published curve."""
    rows = [
        (
            each.curve.name,
            f"{each.alpha:.2f}",
            f"{each.falls:.3f}",
            signed(each.constant_error, 0),
            signed(each.falling_error),
        )
        for each in fits()
    ]
    return Table(
        "Tokens of a step with eight drafts: errors of two laws",
        ("model, drafts", "α", "r", "constant", "falling"),
        rows,
    )


RULES = {"the paper's form": "paper's rule", "our rule": "corrected rule"}


def afd() -> Table:
    """Throughput by two rules of Attention–FFN disaggregation, beside a simulator."""
    found = record()["afd"]
    rows = [(RULES[name], *cells) for name, *cells in found["rows"]]
    return Table(
        f"Errors of throughput against a simulation: {found['caption']}",
        ("rule", "median", "99 %", "worst", "ratio"),
        rows,
        notes=(
            "99 %: the size that so many of the errors stay below.",
            "Ratio: best ratio by the rule, less the simulated one, at worst.",
        ),
    )
