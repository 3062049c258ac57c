"""A plan in words and numbers: a column for each size of group, and the choice."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import fill
from typing import Any

from llmserve_lab.capacity.demand import ServerDemand
from llmserve_lab.capacity.group import Group, Limit, Operating
from llmserve_lab.capacity.plan import SizingPlan
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.formula.text import plain, si

OUTSIDE = "unmeasured"
MOST_COLUMNS = 72  # of a sentence; a page cuts off what is wider
BREAKS: dict[Limit, str] = {
    "TPOT": "breaks TPOT",
    "TTFT": "breaks TTFT",
    "memory": "too little memory",
}
LIMITS: dict[Limit, str] = {
    "TPOT": "the promised TPOT",
    "TTFT": "the promised TTFT",
    "memory": "memory",
    "prompts": "the time that prompts take",
}
ERROR = "error of "
NOTES = (
    "Promises are on means; nine in ten requests keep them only at a lower rate.",
    "Working space: for as many slots (--max-num-seqs) as requests fit.",
    "A step reads at most one prompt, whole. {}",
    "Errors: predicted / measured - 1, of nine in ten runs like this one.",
)
DENSE = "Weights and cache in one precision."
EIGHT = "A mixture's cache has eight bits at least, as where measured."


def text(found: SizingPlan) -> str:
    """The plan as lines for a terminal."""
    columns = [_column(found, each) for each in found.groups]
    heads = ["", *(f"TP{each.tp}" for each in found.groups)]
    rows, outside = _rows(columns)
    rows = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [_title(found), _promise(found.asked), ""]
    for first, *others in rows if found.groups else ():
        cells = (c.rjust(w) for c, w in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *cells]))
    sizes = (each for each in found.sizes if not isinstance(each, Group))
    lines += [wrapped(f"TP{each.tp}: {each.why}") for each in sizes]
    if outside:
        lines += ["", wrapped(f"Outside everything measured: {', '.join(outside)}.")]
    cache = EIGHT if isinstance(found.model.ffn, MoeFfn) else DENSE
    notes = (wrapped(each.format(cache)) for each in NOTES)
    return "\n".join([*lines, *notes, "", wrapped(sentence(found))])


def wrapped(words: str) -> str:
    """A sentence in lines of at most :data:`MOST_COLUMNS`, no name broken."""
    return fill(words, MOST_COLUMNS, break_on_hyphens=False, break_long_words=False)


def sentence(found: SizingPlan) -> str:
    """What the rule of means says in one sentence, or why it says nothing."""
    best, asked = found.choice, found.asked
    if best is None or best.best is None:
        why = {each.limit for each in found.groups}
        if not why:
            return f"No choice: {found.model.name} does not fit into one node."
        named = " or ".join(sorted(LIMITS[each] for each in why))
        return f"No choice: one request alone is too much for {named}."
    flags = f" (vLLM: --tensor-parallel-size {best.tp})" if best.tp > 1 else ""
    bound = f"limited by {LIMITS[best.limit]}{flags}"
    each = f"{best.tp} {found.gpu.name}"
    if asked.rate is None:
        rate = f"{plain(best.gpu_rate)} requests/s a GPU"
        return f"By means: servers of {each}, {rate}, the most of all; {bound}."
    servers = f"{counted(best.replicas)} of {each}"
    full = (
        " Requests wait for room in memory there, which means do not count: simulate."
        if best.queued is None
        else ""
    )
    return (
        f"By means: {servers} for {plain(asked.rate)} requests/s; they carry up to "
        f"{plain(best.carried)}, {bound}.{full}"
    )


def counted(number: int) -> str:
    """So many servers.

    >>> counted(1)
    '1 server'
    """
    return f"{number} server{'' if number == 1 else 's'}"


def record(found: SizingPlan) -> dict[str, Any]:
    """The plan as plain data: SI units, bands as errors, sizes in order."""
    asked = found.asked
    return {
        "model": found.model.name,
        "gpu": found.gpu.key,
        "asked": {name: getattr(asked, name) for name in asked.__dataclass_fields__},
        "sizes": [_data(each) for each in found.groups],
        "impossible": {
            str(each.tp): each.why
            for each in found.sizes
            if not isinstance(each, Group)
        },
        "choice": found.choice.tp if found.choice else None,
        "sentence": sentence(found),
    }


def _title(found: SizingPlan) -> str:
    asked = found.asked
    held = f", {asked.cached:.0%} of the prompt cached" if asked.cached else ""
    numbers = (asked.precision or "bf16").upper()
    return (
        f"{found.model.name} on {found.gpu.name}, {numbers}: "
        f"{asked.prompt:,} tokens in, {asked.answer:,} out{held}"
    )


def _promise(asked: ServerDemand) -> str:
    rate = f"; {plain(asked.rate)} requests/s" if asked.rate else ""
    return (
        f"promised: mean TTFT {si(asked.ttft_s, 's')}, "
        f"mean TPOT {si(asked.tpot_s, 's')}{rate}"
    )


def _column(found: SizingPlan, group: Group) -> dict[str, str]:
    """What a size of group shows, by the name of its row."""
    best, planned, queued = group.best, group.planned, group.queued

    def of(at: Operating | None, shown: Callable[[Operating], str]) -> str:
        return "-" if at is None else shown(at)

    rows = {
        "weights": si(group.weight_bytes, "byte"),
        "working space": si(group.working_bytes, "byte"),
        "room for cache": si(group.room_bytes, "byte"),
        "requests that fit": f"{group.fits:,}",
        "TTFT alone": si(group.alone_ttft_s, "s"),
        f"{ERROR}TTFT alone": _band(group.alone_band("ttft")),
        "TPOT alone": si(group.alone_tpot_s, "s"),
        f"{ERROR}TPOT alone": _band(group.alone_band("tpot")),
        "most in flight": f"{group.batch:,}" if best else "-",
        "requests/s a server": of(best, lambda at: plain(at.rate)),
        f"{ERROR}requests/s a server": _band(group.rate_band) if best else "-",
        "limited by": group.limit if best else BREAKS[group.limit],
    }
    if found.asked.rate is not None:
        within = group.replicas_within or ()
        rows |= {
            "servers": f"{group.replicas}" if best else "-",
            "  if the rate errs so": "-".join(map(str, sorted({*within}))) or "-",
            "GPUs": f"{group.gpus}" if best else "-",
        }
    return rows | {
        "mean wait": of(queued, lambda at: si(at.wait_s, "s")),
        "TTFT with the wait": of(queued, lambda at: si(at.ttft_s, "s")),
        f"{ERROR}TTFT with the wait": _band(group.ttft_band) if best else "-",
        "TPOT": of(planned, lambda at: si(at.tpot_s, "s")),
        f"{ERROR}TPOT": _band(group.tpot_band) if best else "-",
    }


def _rows(columns: list[dict[str, str]]) -> tuple[list[list[str]], list[str]]:
    """Rows of cells behind their names, and what is measured for none of the sizes."""
    rows, outside = [], []
    for name in columns[0] if columns else ():
        cells = [each[name] for each in columns]
        of = name.removeprefix(ERROR)
        if of == name or {*cells} - {OUTSIDE, "-"}:
            rows.append([name if of == name else "  error", *cells])
        elif OUTSIDE in cells:
            outside.append(of)
    return rows, outside


def _band(errors: Band | Unmeasured) -> str:
    """A band in a few letters."""
    if isinstance(errors, Unmeasured):
        return OUTSIDE
    return f"{100 * errors.low:+.0f}..{100 * errors.high:+.0f}%"


def _data(group: Group) -> dict[str, Any]:
    """One size of group as plain data."""
    best, planned = group.best, group.planned
    waits = {} if group.queued else dict.fromkeys(("wait_s", "ttft_s"))
    bands = {"alone_ttft": group.alone_band("ttft"), "ttft": group.ttft_band}
    bands |= {"alone_tpot": group.alone_band("tpot"), "tpot": group.tpot_band}
    bands["rate"] = group.rate_band
    return {
        "tp": group.tp,
        "weight_bytes": group.weight_bytes,
        "working_bytes": group.working_bytes,
        "room_bytes": group.room_bytes,
        "requests_that_fit": group.fits,
        "alone_ttft_s": group.alone_ttft_s,
        "alone_tpot_s": group.alone_tpot_s,
        "most_under_way": group.batch,
        "rate": best.rate if best else 0.0,
        "limit": group.limit,
        "servers": group.replicas if best else 0,
        "gpus": group.gpus if best else 0,
        "servers_if_the_rate_errs": group.replicas_within,
        "at_the_rate": vars(planned) | waits if planned else None,
        "bands": {name: each.record() for name, each in bands.items()},
    }
