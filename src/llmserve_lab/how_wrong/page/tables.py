"""The chapter's tables, every number from the rows, the records or the catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from llmserve_lab.catalog.evidence import serving
from llmserve_lab.formula.text import signed
from llmserve_lab.how_wrong import decision, example
from llmserve_lab.how_wrong.folds import NAMES, folds, span
from llmserve_lab.how_wrong.record import (
    SHEET,
    bias,
    mean_ends,
    mean_error,
    record,
    scored,
    switched_ends,
)
from llmserve_lab.how_wrong.term_by_term import terms
from llmserve_lab.how_wrong.wording import per_cent, with_ends
from llmserve_lab.page.table import Table
from llmserve_lab.validation import (
    achieved,
    dense_rows,
)
from llmserve_lab.validation.constants import record as validated
from llmserve_lab.validation.prediction import Kind as TimeKind

SHORT: dict[str, TimeKind] = {"TPOT": "tpot", "end-to-end": "e2e", "TTFT": "ttft"}


BOOTSTRAP = (
    "In brackets: 95 % bootstrap interval, whole servers drawn, constants kept. Of "
    "fewer than ten servers it is too narrow."
)


def scored_as(kind: TimeKind, left: str) -> str:
    """A mean error with its interval, of all rows that the kind is scored on."""
    return with_ends(mean_error(kind, left), mean_ends(kind, left))


def stored_as(score: Mapping[str, float]) -> str:
    """A score of the record as it is printed."""
    ends = (score["low"], score["high"]) if "low" in score else None
    return with_ends(score["mean"], ends)


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
            ("size", (example.mean_of(book), example.mean_of(sheet))),
            ("bias", (example.bias_of(book), example.bias_of(sheet))),
        )
    ]
    return Table(
        "TPOT in ms, errors in per cent: Llama-3.1-70B (FP8) on four H100, vLLM, "
        "lengths of up to 1,024 tokens",
        ("clients", "measured", "book", "error", "sheet’s"),
        [*rows, *ends],
        notes=(
            "Book: cross-validated, by constants that never saw a row of this model. "
            "Sheet’s: the error of the datasheet alone. Size: mean size of the errors.",
        ),
    )


def groups() -> Table:
    """Errors by what was left out: each group for itself, and all rows together."""
    rows: list[tuple[str | int, ...]] = []
    for by in ("model", "engine"):
        for fold in folds(by):
            errors = (with_ends(fold.mean, fold.ends), signed(fold.bias, 1))
            rows.append((NAMES[fold.left_out], fold.n_predicted, *errors))
        mean = with_ends(mean_error("tpot", by), mean_ends("tpot", by))
        pooled = (mean, signed(bias("tpot", by), 1))
        rows.append((f"all, {by} by {by}", len(dense_rows()), *pooled))
    return Table(
        "TPOT where the fit has not seen the model or the engine (cross-validated)",
        ("left out", "rows", "mean error", "bias"),
        rows,
        notes=(BOOTSTRAP,),
    )


def plan() -> Table:
    """What a planner writes down at two loads: prediction, factor, longest time."""
    rows: list[tuple[str, ...]] = []
    for load in (decision.planned(), decision.hoped()):
        for name, one, digits, places in (
            ("TPOT", load.tpot, 2, 3),
            ("TTFT", load.ttft, 0, 2),
        ):
            times = [
                "–" if each is None else f"{1e3 * each:.{digits}f}"
                for each in (one.predicted_s, one.longest_s, one.measured_s)
            ]
            times.insert(1, f"{one.factor:.{places}f}")
            rows.append((f"{load.clients} {name}", *times))
    return Table(
        "Our server, by clients: mean times in ms; longest = book × factor",
        ("load", "book", "×", "longest", "measured"),
        rows,
        notes=(
            "Book: constants fitted without the 70B model (cross-validated). Factors: "
            "from the nearest rows of other servers, also of the 70B model on other "
            "GPUs.",
        ),
    )


def plans() -> Table:
    """The plans of the decision side by side: clients, devices, and what may break."""
    hope = decision.hoped()
    known = (
        ("prediction alone", hope, "predicted_s"),
        ("vLLM’s own factor", decision.engine_known(), "longest_s"),
        ("the book’s band", decision.planned(), "longest_s"),
    )
    rows = [
        (
            name,
            str(load.clients),
            f"{example.TP * decision.servers(load, which)}",
            per_cent(decision.broken(load)),
        )
        for name, load, which in known
    ]
    measured = f"{example.TP * decision.servers(hope, 'measured_s')}"
    return Table(
        "Plans for the same demand",
        ("plan by", "clients", "GPUs", "risk"),
        [*rows, ("a measurement", str(hope.clients), measured, "–")],
        notes=(
            "Risk: share of the vLLM rows with a public script that were slower than "
            "predicted by so much that the promise of TPOT would break "
            "(cross-validated).",
        ),
    )


def iteration() -> Table:
    """The example's token at its largest load, every term with its numbers in."""
    found = terms()
    rows = [(each.name, each.how, f"{1e3 * each.seconds:.3f}") for each in found]
    total = f"{1e3 * sum(each.seconds for each in found):.2f}"
    return Table(
        f"One token of {example.CLIENTS} clients, term by term (in-sample constants)",
        ("term", "with its numbers", "ms"),
        [*rows, ("TPOT, predicted", "the sum", total)],
        notes=(
            "Bytes, FLOPs and messages are those of one GPU of the four.",
            "Counts are means over the iterations in which a request gets its tokens.",
        ),
    )


def yardsticks() -> Table:
    """The book's errors beside what a datasheet, one factor and a tool reach."""
    naive, tool = validated()["yardstick"], serving.TOOL_ERRORS
    times = tuple(SHORT.values())

    def told(place: int) -> list[str]:
        known = (each for each in times if each != "ttft")
        return [*(per_cent(float(tool[each][place])) for each in known), "–"]

    rows: list[tuple[str, ...]] = [
        ("datasheet", *(scored_as(each, SHEET) for each in times)),
        ("× one factor", *(stored_as(naive[each]) for each in times)),
        ("the tool", *told(0)),
        ("book", *(scored_as(each, "model") for each in times)),
    ]
    return Table(
        "Mean errors, the model left out of whatever is fitted",
        ("predicted by", *SHORT),
        rows,
        notes=(
            f"TPOT and end-to-end: all {len(dense_rows())} rows; TTFT: the "
            f"{len(scored('ttft'))} whose script is published.",
            f"The tool: the {float(serving.TOOL_ROWS):.0f} rows that it answers, run "
            "as a user would; whether its authors tuned it on them is not said. Its "
            "TTFT was scored on rows without a public script too, so it is not shown. "
            "Its errors row by row are not published, so it has no interval.",
            BOOTSTRAP,
        ),
    )


def constants() -> Table:
    """The constants by name, and the mean error where one is as in the datasheet."""
    reached, off = achieved(), record()["switches"]

    def without(place: int) -> tuple[str, str]:
        key = "".join("0" if i == place else "1" for i in range(5))
        tpot, ttft = (with_ends(off[key][i], switched_ends(key, i)) for i in (0, 1))
        return tpot, ttft

    def alone(place: int) -> str:
        key = "".join("1" if i == place else "0" for i in range(5))
        return with_ends(off[key][0], switched_ends(key, 0))

    rows = [
        (
            words,
            said(getattr(reached, name)),
            "–".join((said(span(name)[0]), said(span(name)[1]))),
            *(
                ("as above",) * 3
                if name == "compute"
                else (alone(place), *without(place))
            ),
        )
        for name, (words, said, place) in CONSTANTS.items()
    ]
    tpot, ttft = without(len(CONSTANTS))
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
            "overlap and the credit for fewer bits (next section); with the time per "
            "layer goes the factor for prompts.",
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
            cells = (error, signed(fold.bias, 1), plain, wide, first)
            rows.append((NAMES[name], fold.n_predicted, *cells))
    return Table(
        "All rows of one name left out: error and bias of TPOT, and rows inside a 90 % "
        "band",
        ("left out", "rows", "error", "bias", "TPOT, plain", "TPOT", "TTFT"),
        rows,
        notes=(
            "Error and bias: cross-validated. The last three columns: rows inside. "
            "Plain: from the 5th to the 95th percentile of the nearest errors; the "
            "others: the band of the book.",
            "–: too few rows with a published script remain. No band without H100: "
            "then the rows of one model remain.",
            BOOTSTRAP,
        ),
    )
