"""Tables of the chapter: records of the evaluation, rendered for the page."""

from __future__ import annotations

from collections.abc import Iterable

from llmserve_lab.deepseek.calibration.host_time import GROUPS, leave_one_out
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation import (
    ablations,
    attribution,
    caveats,
    decode_scores,
    kernels,
    predictions,
    sensitivity,
)
from llmserve_lab.deepseek.evaluation.predictions import NOTES, Point, Score
from llmserve_lab.deepseek.executed.mla import Compared
from llmserve_lab.deepseek.model.assumptions import Assumptions
from llmserve_lab.deepseek.model.elementwise_kernels import places
from llmserve_lab.deepseek.model.setup import Setup
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.table import Table

Row = tuple[str, ...]
PER_CENT = 100


def signed(share: float) -> str:
    """A share as a percentage with its sign."""
    return f"{round(PER_CENT * share):+d} %"


def per_cent(share: float) -> str:
    """A share as a percentage."""
    return f"{PER_CENT * share:.0f} %"


def tenths(share: float, sign: str = "") -> str:
    """A share as a percentage to one decimal."""
    return f"{PER_CENT * share:{sign}.1f} %"


def assumptions(assumed: Assumptions) -> Table:
    """Every assumption as it was made."""
    rows = [(name, _shown(value)) for name, value in vars(assumed).items()]
    return Table("What the text leaves open", ("assumption", "made"), rows)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if hasattr(value, "items"):
        return "; ".join(f"{key}: {kernels.name}" for key, kernels in value.items())
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def elementwise(setup: Setup) -> Table:
    """Kernels of a layer and the bytes that each moves for a row."""
    rows = [
        (
            place.name,
            place.n_kernels,
            place.gemm_bytes / 1e3,
            place.elementwise_bytes / 1e3,
            place.largest,
        )
        for place in places(setup)
    ]
    columns = ("where", "kernels", "kB in GEMMs", "kB elementwise", "most of it")
    return Table("One layer of a decode step, kernel by kernel", columns, rows)


def two_forms(found: Iterable[Compared]) -> Table:
    """FLOPs of both forms of latent attention as counted, and how they differ."""
    rows = [
        (
            f"{each.n_rows} on {each.context}",
            each.vanilla_flops,
            each.absorbed_flops,
            each.vanilla_flops / each.absorbed_flops,
            "yes" if each.equal else f"no, by {each.gap:.1e}",
        )
        for each in found
    ]
    columns = (
        "new rows on cached",
        "FLOPs, vanilla",
        "FLOPs, absorbed",
        "vanilla / absorbed",
        "equal outputs",
    )
    return Table("One layer of a tiny MLA, executed", columns, rows)


def numbered() -> list[str]:
    """The notes below the table of points, each once."""
    return list(dict.fromkeys(NOTES.values()))


def noted(point: Point) -> str:
    """The name of a point, with the number of its note if it has one."""
    note = NOTES.get(point.record.name)
    return (
        point.name if note is None else f"{point.name} [{numbered().index(note) + 1}]"
    )


def points(assumed: Assumptions) -> Table:
    """Tokens per second of a GPU, predicted and measured, with error and status."""
    rows = [
        (
            noted(each),
            plain(each.predicted),
            plain(each.measured),
            signed(each.error),
            each.status,
        )
        for each in predictions.points(assumed)
    ]
    columns = ("deployment", "predicted", "measured", "error", "the run was")
    return Table("Tokens per second of a GPU", columns, rows, numbered())


def _scored(what: str, found: Iterable[Score]) -> Iterable[Row]:
    for each in found:
        sizes = (tenths(each.mean_error), tenths(each.bias, "+"), signed(each.worst))
        yield (what, each.status, str(each.n_runs), *sizes, per_cent(each.share_within))


def scores(assumed: Assumptions) -> Table:
    """Errors apart by what the runs were used for."""
    found = [(p.status, p.error) for p in predictions.saturated(assumed)]
    steps = decode_scores.predictions(assumed)
    rows = [
        *_scored("rate of a deployment", predictions.by_status(found)),
        *_scored("step of a decode worker", decode_scores.scores(steps)),
    ]
    columns = ("what", "runs", "many", "mean error", "bias", "worst", "within 15 %")
    note = "the mean of a day's prefill, which no saturated machine gives, left out"
    return Table("Scores, by what a run was used for", columns, rows, [note])


def left_out(assumed: Assumptions) -> Table:
    """Cross-validation of the time on the host over the decode runs."""
    rows = []
    for by in GROUPS:
        for each in leave_one_out(assumed, by):
            total = predictions.score("calibrated", each.errors)
            errors = (tenths(total.mean_error), tenths(total.bias, "+"))
            rows.append((by, each.group, total.n_runs, si(each.host_s, "s"), *errors))
    columns = ("left out", "which", "runs", "host, of the others", "mean error", "bias")
    return Table("Each group predicted with the time of all others", columns, rows)


def decode_runs(assumed: Assumptions) -> Table:
    """Steps of decode workers, predicted and measured."""
    rows = [
        (
            each.run.name,
            f"{each.requests:.3g}",
            f"{1e3 * each.predicted_s:.1f} ms",
            f"{1e3 * each.measured_s:.1f} ms",
            signed(each.error),
        )
        for each in decode_scores.predictions(assumed)
    ]
    columns = ("run", "decoding on a GPU", "predicted", "measured", "error")
    return Table("A step of a decode worker, runs calibrated on", columns, rows)


def transfers(assumed: Assumptions) -> Table:
    """The library's dispatch and combine: predicted, measured, error."""
    found = kernels.transfers(assumed)
    rows: list[Row] = []
    for there, back in zip(found[::2], found[1::2], strict=True):
        cells = [f"EP {there.ep}"]
        for each in (there, back):
            both = (plain(1e6 * s) for s in (each.predicted_s, each.measured_s))
            cells += [" / ".join(both), signed(each.error)]
        rows.append(tuple(cells))
    columns = ("group", "dispatch", "error", "combine", "its error")
    start = next(iter(assumed.kernels.values())).transfer_start_s
    by = f"two shares and {si(start, 's')} a transfer" if start else "two shares"
    caption = f"All-to-all of the communication library, by {by} / measured, in µs"
    return Table(caption, columns, rows)


def headlines() -> Table:
    """The best that two libraries print, and what the twin takes instead."""
    rows = [
        (
            each.what,
            si(float(each.best), each.best.unit),
            per_cent(each.of_peak),
            per_cent(each.taken),
        )
        for each in kernels.headlines()
    ]
    columns = ("what", "headline", "of the peak", "the twin takes")
    return Table("Two libraries' headlines on an H800 SXM", columns, rows)


def balance(assumed: Assumptions) -> Table:
    """Every point's error at other balancednesses, and at the assumed one."""
    found = caveats.by_balance(assumed)
    rows = [
        (each[0].name, *(signed(point.error) for point in each))
        for each in zip(*found.values(), strict=True)
    ]
    columns = ("deployment", *(plain(tried) for tried in found))
    return Table("Error by balancedness", columns, rows)


def production(assumed: Assumptions) -> Table:
    """A production decode, told no more than what a user saw."""
    rows = [
        (
            f"{each.user_rate:.0f} tokens/s",
            each.batch,
            plain(each.predicted),
            plain(each.measured),
            signed(each.error),
        )
        for each in caveats.production(assumed)
    ]
    columns = ("a user sees", "batch", "predicted", "measured", "error")
    return Table("DeepSeek, EP144, from a user's rate alone", columns, rows)


def busy(assumed: Assumptions) -> Table:
    """How much of each full machine's rate a day's prefill came to."""
    rows = [
        (each.name, plain(each.tokens_per_s), per_cent(each.day_share))
        for each in caveats.full_machines(assumed)
    ]
    columns = ("a full machine", "tokens/s of a GPU", "the day's mean is")
    return Table("How busy was DeepSeek's prefill?", columns, rows)


def untold(assumed: Assumptions) -> Table:
    """DeepSeek's decodes if their batch or their drafting was another."""
    rows = [
        (
            f"{each.record.name}, {each.what}",
            f"{each.batch:.4g}",
            plain(each.predicted),
            signed(each.error),
        )
        for each in caveats.untold(assumed)
    ]
    columns = ("if it was", "batch", "predicted", "error")
    return Table("What DeepSeek does not tell of its decode", columns, rows)


def hiding(assumed: Assumptions) -> Table:
    """The rack's later runs, nothing of the all-to-alls hidden or all of them."""
    rows = [
        (each.record.name, signed(each.none), signed(each.everything))
        for each in caveats.hiding_bounds(assumed)
    ]
    columns = ("deployment", "nothing hidden", "all hidden")
    return Table("Error with no overlap, and with the most there can be", columns, rows)


def few_requests(assumed: Assumptions) -> Table:
    """Steps with few requests: measured, predicted, by kernels and links alone."""
    rows = [
        (
            f"{each.point.name}, context {each.context:,.0f}",
            *(f"{1e3 * s:.1f} ms" for s in (each.without_host_s, each.predicted_s)),
            f"{1e3 * each.step_s:.1f} ms",
            signed(each.point.error),
            each.point.status,
        )
        for each in caveats.few_requests(assumed)
    ]
    columns = (
        *("deployment", "kernels, links", "and host", "measured", "error of the rate"),
        "the run was",
    )
    return Table("A step with few requests on a GPU", columns, rows)


def ladder() -> Table:
    """Errors of four published points on every rung."""
    rows = [
        (each.change, *("–" if e is None else signed(e) for e in each.errors))
        for each in attribution.ladder()
    ]
    names = (each.name.partition(", ")[2] for each in attribution.STOOD_ON)
    return Table("Error after each change, top down", ("and then", *names), rows)


def ablated(assumed: Assumptions) -> Table:
    """Published gains beside the twin's."""
    rows = [
        (
            each.change,
            signed(each.predicted - 1),
            " to ".join(signed(gain - 1) for gain in each.measured),
        )
        for each in ablations.ablations(assumed)
    ]
    return Table("Ablations", ("change", "predicted", "measured"), rows)


def swings(place: Setup, *, batches: tuple[float, ...], context: float) -> Table:
    """Every change and what it does, for each of ``batches``."""
    found = [
        dict(sensitivity.swings(place, batch=batch, context=context))
        for batch in batches
    ]
    rows = [
        (name, *(signed(each[name]) for each in found))
        for name in sensitivity.changes()
    ]
    columns = ("change", *(f"{batch:.0f} requests" for batch in batches))
    title = "Change of tokens/s of a GPU, assumption by assumption"
    return Table(title, columns, rows)


def silent(place: Setup, *, context: float) -> Table:
    """Assumptions that no decode step feels: of prefill and of memory."""
    found = sensitivity.silent(place, context=context)
    rows = [(each.change, each.what, signed(each.by)) for each in found]
    title = f"What a decode step does not feel: {context:,.0f} tokens"
    return Table(title, ("change", "of what", "by"), rows)


def before_rebalancing() -> Table:
    """Balancedness before rebalancing that the measured gains would need."""
    ours = book_assumptions()
    rows = [
        (phase, plain(ablations.balance_before(phase, ours)))
        for phase in ablations.REBALANCED
    ]
    columns = ("experts rebalanced", "balancedness before, if the twin is right")
    return Table("How uneven it must have been", columns, rows)
