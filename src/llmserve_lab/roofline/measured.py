"""A bound is honest only beside a measurement: what servers reached of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.measurements import SMALL_BATCH
from llmserve_lab.formula.origin import Computed, Sourced
from llmserve_lab.formula.text import si
from llmserve_lab.page.banded import banded
from llmserve_lab.page.table import Table
from llmserve_lab.roofline import bare
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.machine import (
    BATCH,
    MEAN_CONTEXT,
    decode,
    prompt,
    terms,
)
from llmserve_lab.roofline.machine import bound_s as datasheet_s
from llmserve_lab.roofline.one_request import bound_s as bound_s
from llmserve_lab.roofline.one_request import bounded
from llmserve_lab.running_example import PROMPT, band, cost, ideal
from llmserve_lab.validation import MeasuredRow, datasheet_bound, dense_rows
from llmserve_lab.validation.constants import record as fit
from llmserve_lab.validation.protocol import SHORTEST

PROMPT_LEN, OUTPUT_LEN = 1024, 512  # nominal, of the measured servers shown
TOOL = "aiconfigurator-core 0.12.0"
MODEL, SYSTEM, ENGINE = "llama-3-8b", "h100-sxm", "trtllm"


@dataclass(frozen=True)
class MeasuredServer:
    """A measured server: its row, its bound, and the book's error when it was unseen.

    ``error`` is predicted / measured − 1 of the machine that was fitted to the rows of
    all *other* models. ``context`` is the mean number of tokens in cache.
    """

    row: MeasuredRow
    context: float
    error: float

    @property
    def size(self) -> dict[str, float]:
        """Its decode iterations, as the formulas take them."""
        return decode(self.row.clients) | {"context": self.context}

    @property
    def bound(self) -> Computed:
        """The datasheet's bound on an iteration in which all its requests decode."""
        return f.ITERATION_S_APART.computed(ideal(), self.size)

    @property
    def mbu(self) -> Computed:
        """Share of the datasheet's bandwidth that its time per token makes use of."""
        return f.MBU.computed(ideal(), self.size, measured_s=self.row.tpot_s)

    @property
    def prompt_flops(self) -> float:
        """FLOPs of the prompts, for each iteration.

        In the steady state as many requests begin as end: of those that decode, one in
        the tokens of an answer. Each begins with its whole prompt.
        """
        begin = self.row.clients / (mean_share() * OUTPUT_LEN)
        size = prompt() | {"chunk": mean_share() * PROMPT_LEN}
        return begin * float(f.ITERATION_FLOPS.at(ideal(), size))

    @property
    def alone_s(self) -> float:
        """What one GPU alone took for the same work, decodes and prompts timed apart.

        The time of its decodes is continued from two contexts to the server's, and
        that of its prompt is scaled to the length of the server's.
        """
        begin = self.row.clients / (mean_share() * OUTPUT_LEN)
        as_long = mean_share() * PROMPT_LEN / PROMPT
        one = as_long * bare.alone_s(chunk=PROMPT)
        return bare.decode_s(self.row.clients, self.context) + begin * one

    @property
    def prompts_s(self) -> float:
        """Seconds of each iteration that the prompts compute, by the datasheet."""
        return self.prompt_flops / float(ideal()["peak_flops"])

    @property
    def flops(self) -> float:
        """FLOPs of an iteration, with its share of the prompts."""
        return float(f.ITERATION_FLOPS.at(ideal(), self.size)) + self.prompt_flops

    @property
    def mfu(self) -> Computed:
        """Share of the datasheet's compute in use, decodes and prompts."""
        return f.MFU_MEASURED.computed(
            ideal(), iteration_flops=self.flops, measured_s=self.row.tpot_s
        )


def served() -> list[MeasuredServer]:
    """Measured servers of the running example's shape, by their number of requests.

    Lengths were drawn uniformly between a share of the nominal ones and all of them.
    """
    context = mean_share() * (PROMPT_LEN + OUTPUT_LEN / 2)
    asked = (MODEL, SYSTEM, ENGINE, PROMPT_LEN, OUTPUT_LEN, "bf16", 1)
    return [
        MeasuredServer(row, context, error)
        for row, error in zip(dense_rows(), fit()["errors"]["tpot"], strict=True)
        if asked
        == (
            *(row.model, row.system, row.engine, row.prompt_len, row.output_len),
            *(row.precision, row.tp),
        )
    ]


def mean_share() -> float:
    """Mean length of what was drawn, as a share of the nominal one."""
    return float(1 + SHORTEST) / 2


def fitted_rows() -> int:
    """How many measured runs the model of a server was fitted to."""
    return len(dense_rows())


def mean_error() -> float:
    """Mean error of the time per token for models that were left out of the fit."""
    return float(fit()["scores"]["model"]["tpot"]["mean"])


def served_table() -> Table:
    """Table of bound and measurement, and of what is in use."""
    rows: list[tuple[str, ...]] = []
    for each in served():
        measured = each.row.tpot_s
        rows.append(
            (
                f"{each.row.clients}",
                _least(each) if not rows else f"{1e3 * each.bound.value:.2f}",
                f"{1e3 * each.alone_s:.2f}",
                f"{1e3 * measured:.2f}",
                f"{each.mbu.value:.0%}",
                f"{each.mfu.value:.0%}",
            )
        )
    columns = ("requests", "bound", "GPU alone", "server", "MBU", "MFU")
    caption = "Milliseconds per output token: Llama-3.1-8B in BF16 on one H100"
    note = (
        f"Server: measured, {TOOL}. Bound and MBU: of the decodes. MFU and GPU alone: "
        "with the prompts. GPU alone: timed at "
        f"{bare.SHORTER[0]} and {bare.SHORTER[1]:,} cached tokens, and continued."
    )
    return Table(caption, columns, rows, notes=(note,))


def _least(server: MeasuredServer) -> Any:
    """A server's bound in ms, said to be one; it stands for those below it, too."""
    shown = Sourced(f"{1e3 * server.bound.value:.2f}", server.bound)
    return banded(shown, datasheet_bound("decode_step"))


@dataclass(frozen=True)
class StepTerm:
    """A term of a decode: seconds by the datasheet's bound, and fitted to servers."""

    name: str
    bound_s: float
    fitted_s: float


def step_terms(batch: int = BATCH, context: int = MEAN_CONTEXT) -> tuple[StepTerm, ...]:
    """From the datasheet's bound to the fit to servers; the last is the whole."""
    reached, sizes = cost(), decode(batch, context)
    known = ideal()
    weights_s, kv_s = (float(each.at(known, sizes)) for each in (f.WEIGHTS_S, f.KV_S))
    at = terms(batch, context)
    return (
        StepTerm("read the weights", weights_s, at["read weights"]),
        StepTerm("read the caches", kv_s, at["read cache"]),
        StepTerm("compute, not hidden", 0.0, at["compute, not hidden"]),
        StepTerm("launches and gaps", 0.0, reached.overhead_s),
        StepTerm("schedule requests", 0.0, batch * reached.request_s),
        StepTerm("together", datasheet_s(batch, context), sum(at.values())),
    )


def steps(batch: int = BATCH, context: int = MEAN_CONTEXT) -> Table:
    """Table of a decode: the datasheet's bound and the fit to servers, term by term."""
    *parts, whole = (
        (each.name, _ms(each.bound_s), _ms(each.fitted_s))
        for each in step_terms(batch, context)
    )
    name, least, most = whole
    around = band("decode_step", clients=batch)
    together = banded(least, datasheet_bound("decode_step")), banded(most, around)
    columns = ("ms", "bound", "fitted to servers")
    caption = (
        f"A decode iteration of {batch} requests with {context:,} tokens in cache each"
    )
    note = (
        f"The full fit, to {fitted_rows()} measured runs ({TOOL}). Three decimals, so "
        "that the parts add up."
    )
    return Table(caption, columns, [*parts, (name, *together)], notes=(note,))


def logged(batch: int = BATCH) -> tuple[float, float]:
    """FLOPs and bytes read per second of decodes, their time fitted to servers."""
    known, size = ideal(), decode(batch)
    seconds = sum(terms(batch).values())
    of = (f.ITERATION_FLOPS, f.ITERATION_BYTES)
    flops, read = (float(each.at(known, size)) / seconds for each in of)
    return flops, read


def log_line(batch: int = BATCH) -> str:
    """What vLLM would log of decodes whose time is fitted to servers, in its words."""
    flops, read = logged(batch)
    return (
        f"Engine 000: MFU: {flops / 1e12:.1f} TF/s/device {read / 1e9:.1f} GB/s/device"
    )


def _ms(seconds: float) -> str:
    """A time in ms, so that the lines of a table add up as they are printed."""
    return f"{1e3 * seconds:.3f}"


def bound_against_measurement() -> Table:
    """Table of bound, measurement and their ratio for one request on eight devices."""
    rows = []
    for each in bounded():
        limit = Sourced(si(each.bound.value, "s"), each.bound)
        rows.append((each.what, limit, each.measured.shown(3), f"{each.ratio:.1f}"))
    columns = ("one request alone", "bound", "measured", "measured / bound")
    *_, record = SMALL_BATCH.values()
    name = catalog.model(record.model).name
    caption = f"{name}: the roofline's bound and a measurement"
    return Table(caption, columns, rows, notes=(f"Measured: {record.token_s.source}.",))
