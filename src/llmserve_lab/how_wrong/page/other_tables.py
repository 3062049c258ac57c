"""Tables of what the rows say without a model, of memory, and of other predictions."""

from __future__ import annotations

from statistics import mean

import numpy as np

from llmserve_lab.catalog.evidence.status import Kind
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.blind_runs import blind_score
from llmserve_lab.deepseek.evaluation.decode_scores import predictions, scores
from llmserve_lab.deepseek.evaluation.predictions import Score, by_status, points
from llmserve_lab.formula.text import si, signed
from llmserve_lab.how_wrong.folds import NAMES
from llmserve_lab.how_wrong.formulas import RELATIVE_ERROR
from llmserve_lab.how_wrong.pairs import full_cache, fullest, pairs, ratios
from llmserve_lab.how_wrong.record import ENOUGH, ends_of, record, row_errors
from llmserve_lab.how_wrong.script import LINES
from llmserve_lab.how_wrong.wording import per_cent, with_ends
from llmserve_lab.page.table import Table
from llmserve_lab.validation import dense_rows
from llmserve_lab.validation.cache_blocks import (
    PredictedCount,
    predicted,
    reserve,
    room,
)
from llmserve_lab.validation.constants import record as validated


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
    rows = [("as it was run", "", *_both(found["as it was run"]))]
    rows += [(line, instead, *_both(found[line])) for line, instead in LINES.items()]
    return Table(
        "One line of a benchmark's script forgotten: mean errors, in-sample",
        ("line", "assumed in its place", "TPOT", "TTFT"),
        rows,
    )


def _both(found: list[float]) -> tuple[str, str]:
    """Mean errors of TPOT and TTFT as the record has them, with their intervals."""
    tpot, ttft, low, high, least, most = found
    return with_ends(tpot, (low, high)), with_ends(ttft, (least, most))


def blocks() -> Table:
    """Published counts of cache blocks, each predicted from the other models."""
    rows = []
    for each in predicted():
        name = f"{each.record.model.name}, {each.record.tp} × {_gpu(each)}"
        published = int(float(each.record.blocks))
        own = f"{reserve(each.record) / 1e9:.2f} GB"
        counts = (f"{published:,}", f"{each.blocks:,}", signed(each.error, 1))
        rows.append((name, f"{each.record.budget:,}", own, *counts))
    rows.append(("mean size", "", "", "", "", per_cent(mean_block_error(), 2)))
    return Table(
        "Blocks of 16 tokens that vLLM found room for (cross-validated)",
        ("server, 16 bits", "token budget", "its reserve", "published", "predicted",
         "error"),
        rows,
        notes=(
            "Published: what vLLM printed at start, from published run logs and "
            "configurations, utilisation 0.9; a server listed twice was started with "
            "two token budgets.",
            "Its reserve: what the published count leaves over on each GPU. The "
            "prediction uses the mean of the other models' instead.",
        ),
    )  # fmt: skip


def mean_block_error() -> float:
    """Mean size of the errors of the counts."""
    return mean(abs(each.error) for each in predicted())


def null_block_error(gpu: str = "") -> float:
    """The same with no reserve at all, on one kind of GPU or on each."""
    found = [
        room(each.record).kv_blocks(reserved_bytes=0.0) / float(each.record.blocks) - 1
        for each in predicted()
        if gpu in ("", _gpu(each))
    ]
    return mean(map(abs, found))


def _gpu(count: PredictedCount) -> str:
    return "H100" if count.record.usable_bytes is None else "RTX 4090"


RATES, STEPS = "tokens per second of a GPU", "time of a decode step"


def twin_scores() -> dict[tuple[str, Kind], Score]:
    """Scores of DeepSeek's twin, by what was published and by status."""
    assumed = book_assumptions()
    rates = by_status((each.status, each.error) for each in points(assumed))
    steps = scores(predictions(assumed))
    found = {(RATES, each.status): each for each in rates}
    found[STEPS, "blind"] = blind_score()
    return found | {(STEPS, each.status): each for each in steps}


def elsewhere() -> Table:
    """What else the book predicts, each with its kind of score, in one table."""
    rows: list[tuple[str, ...]] = []
    for (what, kind), has in sorted(twin_scores().items(), reverse=True):
        status = "in-sample" if kind == "calibrated" else kind
        ends = has.mean_interval if has.n_runs >= ENOUGH else None
        error = with_ends(has.mean_error, ends)
        numbers = (f"{has.n_runs} runs", error, signed(has.bias, 1))
        rows.append((f"DeepSeek-V3's twin: {what}", status, *numbers))
    afd = record()["afd"]
    for name, sizes in afd["rules"].items():
        ends = sizes["median, low"], sizes["median, high"]
        error = with_ends(sizes["median"], ends, 2)
        rows.append((f"AFD, {RULES[name]}", "simulated", afd["drawn"], error, "–"))
    return Table(
        "Other predictions of the book beside what there is",
        ("prediction", "kind", "beside", "error", "bias"),
        rows,
        notes=(
            "Mean errors. AFD, Attention–FFN disaggregation: median errors, beside "
            "a simulator that shares the rule's assumptions (simulated); no real "
            "machine.",
            "In brackets: 95 % bootstrap interval, runs drawn (of the rules whole "
            f"bundles); fewer than {ENOUGH} runs have none.",
        ),
    )


RULES = {
    "the paper's form": "rule as its paper prints it",
    "our rule": "corrected rule",
}


UNITS = {"tp": "GPUs", "clients": "clients"}


def combinations() -> Table:
    """TPOT's error by model, GPU and engine, and by numbers of GPUs and of clients."""
    size = np.abs(row_errors("tpot", "model"))
    rows: list[tuple[str, ...]] = []
    for names in (("model", "system", "engine"), ("tp",), ("clients",)):
        keys = [tuple(getattr(row, name) for name in names) for row in dense_rows()]
        for key in sorted(set(keys)):
            mine = np.array([each == key for each in keys])
            own = size[mine]
            inside = [row for row, it in zip(dense_rows(), mine, strict=True) if it]
            ends = ends_of(own, inside)
            cells = [NAMES.get(each, "") for each in key]
            if len(key) == 1:
                unit = UNITS[names[0]].removesuffix("s" if key[0] == 1 else "")
                cells = [f"all with {key[0]} {unit}", "", ""]
            counts = (f"{len(own)}", f"{len({row.server for row in inside})}")
            rows.append((*cells, *counts, with_ends(float(own.mean()), ends)))
    return Table(
        "Mean error of TPOT, the model left out",
        ("model", "GPU", "engine", "rows", "servers", "error"),
        rows,
    )


FORMS = {
    "as chosen": "as chosen",
    "nothing hidden": "reading and computing add up",
    "the shorter bill hidden": "the shorter of the two is free",
    "no launches": "a layer costs the same with a prompt",
    "exponent fitted": "what fewer bits gain is fitted, too",
    "six constants alone": "none of the three set, that gain fitted",
}


def forms() -> Table:
    """What the error would be with one of the three round numbers set otherwise."""
    found = validated()["forms"]
    rows: list[tuple[str, ...]] = [
        (
            words,
            *(
                with_ends(found[name][key], tuple(found[name]["intervals"][key]))
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
