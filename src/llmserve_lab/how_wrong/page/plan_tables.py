"""The tables of the decision: what held of a factor, plans side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmserve_lab.how_wrong import decision, example, worth
from llmserve_lab.how_wrong.decision import TPOT_S, Forecast, PlannedLoad
from llmserve_lab.how_wrong.factors import NEW, Rule, beyond, cases, nested_power, risk
from llmserve_lab.how_wrong.page import expert_tables
from llmserve_lab.how_wrong.page.trust_picture import CASES, trusted
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.table import Table
from llmserve_lab.validation.bands import INSIDE


def factors() -> Table:
    """By what is new: the error to expect, the rule of the factor, what it held."""
    errors = dict(zip(CASES.values(), trusted(), strict=True))
    meant, held = f"{100 * cases()[0].promised:.0f}", _held(*worth.runs_held())
    rows: list[tuple[str, ...]] = [
        (BETWEEN, *_errors(errors[""]), "two own runs", meant, held, "–")
    ]
    for each in sorted(cases(), key=lambda case: errors[LABELS[case.new]]):
        shares = (_held(*one) for one in zip(each.held, each.names, strict=True))
        off, meant = _errors(errors[LABELS[each.new]]), f"{100 * each.promised:.0f}"
        rows.append((each.new, *off, each.rule, meant, *shares))
    mean_error = "–".join(f"{100 * each:.1f}" for each in expert_tables.span())
    fourth_runs, share = expert_tables.held("tpot")
    meant, tpot_held = f"{100 * INSIDE:.0f}", f"{100 * share:.0f}"
    rows.append((MIXTURE, mean_error, "–", "its band", meant, tpot_held, "–"))
    return Table(
        "What is new in your case, and what to plan with: errors of TPOT, and rows "
        "that the factors held, in per cent",
        (
            "what is new",
            "mean error",
            "worst server",
            "safety factor of",
            "meant to hold",
            "TPOT held",
            "TTFT held",
        ),
        rows,
        notes=(
            "All but mixtures: cross-validated, in brackets single servers (two own "
            "runs) or single engines, models, kinds of GPU. The lines of 95 are of "
            "the slow side alone, by factors made from other servers; only the "
            f"server: {len(beyond('engine'))} vLLM rows. Mixtures: five blind trials. "
            f"Their band was made without the fourth’s {fourth_runs} runs and counted "
            "on them, though its form was chosen with them in view.",
        ),
    )


LABELS = {"only the server": "server"} | {words: by for by, words in NEW.items()}
BETWEEN, MIXTURE = "a load between two own runs", "a mixture of experts"


def _errors(both: tuple[float, float]) -> tuple[str, str]:
    """A mean error and that of the worst server, in per cent."""
    mean, worst = both
    return f"{mean:.1f}", f"{worst:.1f}"


def _held(found: float | None, names: Mapping[str, float]) -> str:
    """A pooled share, and the smallest and largest of a name."""
    if found is None:
        return "–"
    if not names:
        return f"{100 * found:.0f}"
    least, most = (f"{100 * end(names.values()):.0f}" for end in (min, max))
    return f"{100 * found:.0f} ({least}–{most})"


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
    ``risk`` is the share of the engine's rows that were slower than the plan allows,
    each row beside a factor made from other servers.
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
    def lines(self) -> dict[str, str]:
        """Its numbers as text, each with what it is called."""
        tpot, ttft = f"{self.tpot_ms:.2f}", f"{self.ttft_ms:.0f}"
        return {
            "clients": str(self.clients),
            "TPOT, ms, × factor": tpot
            + (f" × {self.tpot_factor:.3f}" if self.tpot_factor else ""),
            "TTFT, ms, × factor": ttft
            + (f" × {self.ttft_factor:.2f}" if self.ttft_factor else ""),
            "tokens in an answer": f"{self.answer_len:.1f}",
            "answer takes, s": f"{self.answer_s:.2f}",
            "tokens/s": f"{self.tokens_per_s:,.0f}",
        }


def _share(found: float | None) -> str:
    return "–" if found is None else per_cent(found)


def worked_plans() -> tuple[WorkedPlan, ...]:
    """The plans of the decision, and at last one by a measurement."""
    plans = [_worked(_planned(rule), rule, which) for _, rule, which in PLANS]
    return (*plans, _worked(decision.hoped(), None, "measured_s"))


def plans() -> Table:
    """The plans side by side, each line to be worked again."""
    first, *others = (each.lines for each in worked_plans())
    rows = [
        (line, cell, *(each[line] for each in others)) for line, cell in first.items()
    ]
    return Table(
        f"Plans for the same demand, each with the most clients, up to the "
        f"{example.CLIENTS} measured, that keep the promises",
        ("quantity", *(name for name, *_ in PLANS), "measured"),
        rows,
        notes=(
            "Measured: the answer’s time is computed before its parts are rounded.",
        ),
    )


def decided() -> Table:
    """What is known of the engine, and the GPUs and the risk that follow from it."""
    hope, engine, band, measured = worked_plans()
    lines = [
        ("book’s band", f"{band.tpot_factor:.3f}", band),
        ("vLLM’s factor", f"{engine.tpot_factor:.3f}", engine),
        ("no factor", "–", hope),
        ("measured times", "–", measured),
    ]
    return Table(
        f"Plans for {decision.ASKED_PER_S:,.0f} tokens/s, each with the most clients, "
        f"up to the {example.CLIENTS} measured, that keep the promises",
        (
            "planned by",
            "TPOT factor",
            "clients a server",
            "tokens/s",
            "servers",
            "GPUs",
            "GPUs too many",
            "rows too slow",
        ),
        [
            (
                known,
                factor,
                str(plan.clients),
                f"{plan.tokens_per_s:,.0f}",
                str(plan.servers),
                str(plan.gpus),
                str(plan.gpus - measured.gpus),
                _share(plan.risk),
            )
            for known, factor, plan in lines
        ],
        notes=(
            f"Rows too slow: of {len(beyond('engine'))} vLLM rows, those whose TPOT "
            "was longer than such a plan allows (cross-validated: each row’s factor "
            "is made from other servers, and the band’s exponent chosen without vLLM, "
            f"{nested_power('engine', 'tpot', decision.ENGINE):g}).",
        ),
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
        risk=risk(rule, 1.0 if widened else plan_slack(rule)) if rule else None,
    )


def _time(one: Forecast, name: str) -> float:
    return float(getattr(one, name))


def plan_slack(rule: Rule) -> float:
    """The promised TPOT over the one that is predicted with a plan's clients."""
    return TPOT_S / _planned(rule).tpot.predicted_s
