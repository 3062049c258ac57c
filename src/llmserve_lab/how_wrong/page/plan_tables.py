"""The tables of the decision: factors and what tested them, and plans side by side."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.how_wrong import decision, example
from llmserve_lab.how_wrong.decision import TPOT_S, Forecast, PlannedLoad
from llmserve_lab.how_wrong.factors import AT, Rule, cases, risk
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.table import Table


def factors() -> Table:
    """Which factor to plan with, by what was measured, and what such factors held."""
    rows: list[tuple[str, ...]] = [
        (
            each.known,
            each.rule,
            f"{each.factors[0]:.3f}",
            f"{each.factors[1]:.2f}",
            per_cent(each.promised, 0),
            *(per_cent(one, 0) for one in each.held),
        )
        for each in cases()
    ]
    rows.append((OUTSIDE, "none", *("–",) * 5))
    return Table(
        f"Factors for our server with {example.rows()[AT].clients} clients, and the "
        "share of left-out rows that such factors held (cross-validated)",
        ("what was measured", "factor of", "TPOT ×", "TTFT ×", "to hold", "TPOT held",
         "TTFT held"),
        rows,
        notes=(
            "First line: to the slow side alone; held of the rows of vLLM that have a "
            "public script, each server left out. Second line: held of rows of a "
            "left-out engine, the power chosen again without it.",
        ),
    )  # fmt: skip


OUTSIDE = "nothing near: a mixture of experts, another generation of GPU or precision"
PLANS: tuple[tuple[str, Rule, str], ...] = (
    ("predicted", "prediction", "predicted_s"),
    ("vLLM’s factor", "engine", "longest_s"),
    ("book’s band", "band", "longest_s"),
)


def _planned(rule: Rule) -> PlannedLoad:
    return {
        "prediction": decision.hoped,
        "engine": decision.engine_known,
        "band": decision.planned,
    }[rule]()


@dataclass(frozen=True)
class WorkedPlan:
    """A plan from its clients to its GPUs, to the digits that are printed.

    Without a factor a time is planned with as it is; a measurement risks nothing.
    """

    clients: int
    tpot_ms: float
    tpot_factor: float | None
    ttft_ms: float
    ttft_factor: float | None
    answer_len: float
    answer_s: float
    tokens_per_s: float
    servers: int
    risk: float | None

    @property
    def gpus(self) -> int:
        """GPUs of all its servers."""
        return example.TP * self.servers

    @property
    def cells(self) -> tuple[str, ...]:
        """Its numbers as text, line by line."""
        return (
            str(self.clients),
            f"{self.tpot_ms:.2f}",
            f"{self.tpot_factor:.3f}" if self.tpot_factor else "–",
            f"{self.ttft_ms:.0f}",
            f"{self.ttft_factor:.2f}" if self.ttft_factor else "–",
            f"{self.answer_len:.1f}",
            f"{self.answer_s:.2f}",
            f"{self.tokens_per_s:,.0f}",
            str(self.servers),
            str(self.gpus),
            "–" if self.risk is None else per_cent(self.risk),
        )


def worked_plans() -> tuple[WorkedPlan, ...]:
    """The plans of the decision, and at last one by a measurement."""
    plans = [_worked(_planned(rule), rule, which) for _, rule, which in PLANS]
    return (*plans, _worked(decision.hoped(), None, "measured_s"))


def plans() -> Table:
    """The plans side by side, each line to be worked again, and what may break."""
    columns = [each.cells for each in worked_plans()]
    rows = [(line, *cells) for line, *cells in zip(LINES, *columns, strict=True)]
    return Table(
        f"Plans for the same demand, each with the most clients, up to the "
        f"{example.CLIENTS} measured, that keep the promises",
        ("quantity", *(name for name, *_ in PLANS), "measured"),
        rows,
        notes=(
            "Risk: share of the vLLM rows with a public script whose TPOT was longer "
            "than such a plan allows. Each row’s factor is made from other servers, "
            "and the power without vLLM (cross-validated).",
            "Measured: the answer’s time is computed before its parts are rounded.",
        ),
    )


LINES = (
    "clients",
    "TPOT, ms",
    "× factor",
    "TTFT, ms",
    "× factor of TTFT",
    "tokens in an answer",
    "answer takes, s",
    "tokens/s",
    "servers",
    "GPUs",
    "risk",
)


def _worked(load: PlannedLoad, rule: Rule | None, which: str) -> WorkedPlan:
    """One plan; ``which`` are the times that it goes by."""
    widened = which == "longest_s"
    shown = "measured_s" if which == "measured_s" else "predicted_s"
    return WorkedPlan(
        clients=load.clients,
        tpot_ms=round(1e3 * _time(load.tpot, shown), 2),
        tpot_factor=round(load.tpot.factor, 3) if widened else None,
        ttft_ms=round(1e3 * _time(load.ttft, shown)),
        ttft_factor=round(load.ttft.factor, 2) if widened else None,
        answer_len=round(load.answer_len, 1),
        answer_s=round(load.answer_s(which), 2),
        tokens_per_s=round(load.tokens_per_s(which)),
        servers=decision.servers(load, which),
        risk=plan_risk(rule) if rule else None,
    )


def _time(one: Forecast, name: str) -> float:
    return float(getattr(one, name))


def plan_risk(rule: Rule) -> float:
    """What a plan of the table risks: its own slack below the promise counted in."""
    load, which = _planned(rule), {name: each for _, name, each in PLANS}[rule]
    return risk(rule, TPOT_S / _time(load.tpot, which))
