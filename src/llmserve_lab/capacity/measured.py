"""Measured runs of the book's model on one H100, and what they would have cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from llmserve_lab import running_example, validation
from llmserve_lab.capacity import formulas as f
from llmserve_lab.capacity.triangle import LEVEL, pool
from llmserve_lab.catalog.data.prices import HOURLY
from llmserve_lab.checks import positive
from llmserve_lab.engine import Chunked, Pool, Report, simulate
from llmserve_lab.formula.band import Band
from llmserve_lab.formula.text import plain
from llmserve_lab.page.table import Table
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.rows import MeasuredRow, dense_rows
from llmserve_lab.workloads import Always, closed_requests

NAME, SYSTEM = "llama-3-8b", "h100-sxm"  # one shape with 3.1
PROMPT, ANSWER = 1024, 256
TURNS = 12  # requests of each client in the simulation


@dataclass(frozen=True)
class PricedRun:
    """A measured run, the engine's of the same clients, and the dollars of both."""

    clients: int
    measured_tpot_s: float
    tpot_s: float
    measured_ttft_s: float
    ttft_s: float
    measured_usd: float
    usd: float

    @property
    def slower(self) -> float:
        """Error of the TPOT, as a share of the measured one."""
        return self.tpot_s / self.measured_tpot_s - 1

    @property
    def off(self) -> float:
        """Error of the cost, as a share of the measured one."""
        return self.usd / self.measured_usd - 1


def rows() -> tuple[MeasuredRow, ...]:
    """Prompts of 1,024 and answers of 256 tokens in BF16, by number of clients."""
    found = (
        row
        for row in dense_rows()
        if (row.model, row.system, row.precision, row.tp) == (NAME, SYSTEM, "bf16", 1)
        and (row.prompt_len, row.output_len) == (PROMPT, ANSWER)
    )
    return tuple(sorted(found, key=lambda row: row.clients))


@cache
def beside() -> tuple[PricedRun, ...]:
    """The engine beside every run."""
    return tuple(_beside(row) for row in rows())


def rates_at(tpot_s: float) -> tuple[float, float]:
    """Requests per second at a mean TPOT, measured and simulated.

    On straight lines between the numbers of clients.
    """
    import numpy as np

    runs = beside()
    asked = (
        ([each.measured_tpot_s for each in runs], [each.measured_usd for each in runs]),
        ([each.tpot_s for each in runs], [each.usd for each in runs]),
    )
    measured, ours = (
        float(np.interp(tpot_s, times, [usd_at(1.0) / usd for usd in costs]))
        for times, costs in asked
    )
    return measured, ours


def rate_error() -> tuple[float, float]:
    """How far the engine's rates were off: runs left out of the fit, and the check.

    The check is the rate at the page's own TPOT target, where a row was measured.
    """
    band = running_example.band("tokens_per_s", clients=64)
    assert isinstance(band, Band)
    real, ours = rates_at(LEVEL.tpot_s)
    check = ours / real - 1
    return min(band.low, check), max(band.high, check)


def factor(off: float) -> float:
    """Simulated over real, of a rate that is off by so much, as the page prints it."""
    return round(1 + off, 2)


def real(rate: float, off: float) -> float:
    """The real rate, if the simulated one is off by a share of the real one."""
    return round(rate / positive("1 + off", factor(off)), 2)


def _run(row: MeasuredRow, one: Pool) -> Report:
    requests = closed_requests(
        prompt=Always(row.prompt_len),
        output=Always(row.output_len),
        num_requests=TURNS * row.clients,
        seed=0,
    )
    return simulate(list(requests), one, clients=row.clients)


def _beside(row: MeasuredRow) -> PricedRun:
    report = _run(row, pool("llama-3.1-8b", "h100-sxm"))
    measured_s = row.ttft_s + row.tpot_s * (row.output_len - 1)
    return PricedRun(
        row.clients,
        row.tpot_s,
        float(report.tpot_s.mean()),
        row.ttft_s,
        float(report.ttft_s.mean()),
        usd_at(row.clients / measured_s),
        usd_at(row.clients / float(report.latency_s.mean())),
    )


def one_slot_fewer_s() -> float:
    """Mean TTFT of the fewest clients if the server has a slot less than clients.

    So one of them always waits until another has its answer.
    """
    row = rows()[0]
    full = pool("llama-3.1-8b", "h100-sxm")
    assert isinstance(full.policy, Chunked)
    fewer = replace(full, policy=replace(full.policy, max_batch=row.clients - 1))
    return float(_run(row, fewer).ttft_s.mean())


def ttft_error() -> float:
    """Mean error of predicted TTFT on the runs whose script is public, left out."""
    return float(record()["scores"]["model"]["ttft"]["mean"])


def client_s() -> float:
    """Time of the client that those predictions add, and the engine does not."""
    return validation.achieved().client_s


def usd_at(per_s: float) -> float:
    """Dollars for a million requests on an H100 at a rate."""
    return float(f.BUSY_COST(price=float(HOURLY["h100-sxm"]), replica_rate=per_s))


def table() -> Table:
    """Table of TPOT and of dollars for a million requests, measured and simulated."""
    found = [
        (
            str(each.clients),
            f"{1e3 * each.measured_ttft_s:.0f}",
            f"{1e3 * each.ttft_s:.0f}",
            f"{1e3 * each.measured_tpot_s:.1f}",
            f"{1e3 * each.tpot_s:.1f}",
            plain(each.measured_usd),
            plain(each.usd),
            f"{each.off:+.0%}",
        )
        for each in beside()
    ]
    columns = (
        "clients",
        "TTFT",
        "engine",
        "TPOT",
        "engine",
        "dollars",
        "engine",
        "error",
    )
    caption = (
        "Measured, and beside it the engine's: mean TTFT and TPOT in ms, and dollars "
        "for a million requests. Llama-3.1-8B in 16 bits on one H100 (TensorRT-LLM), "
        "1,024 tokens in, 256 out"
    )
    return Table(caption, columns, found)
