"""The tables of the decision: what held of a factor, plans side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmserve_lab.how_wrong import decision, example
from llmserve_lab.how_wrong.decision import TPOT_S, Forecast, PlannedLoad
from llmserve_lab.how_wrong.factors import NEW, Rule, beyond, cases, risk
from llmserve_lab.how_wrong.page import expert_tables
from llmserve_lab.how_wrong.page.pictures import CASES, trusted
from llmserve_lab.how_wrong.wording import per_cent
from llmserve_lab.page.table import Table
from llmserve_lab.validation.bands import INSIDE


def factors() -> Table:
    """By what is new: the error to expect, the rule of the factor, what it held."""
    errors = dict(zip(CASES.values(), trusted(), strict=True))
    rows = [("a load between two own runs", *_errors(errors[""]), OWN_RUNS, *3 * "–")]
    for each in sorted(cases(), key=lambda case: errors[LABELS[case.new]]):
        held = (_held(*one) for one in zip(each.held, each.names, strict=True))
        off, promised = _errors(errors[LABELS[each.new]]), f"{100 * each.promised:.0f}"
        rows.append((each.new, *off, each.rule, promised, *held))
    least, most = (f"{100 * each:.1f}" for each in expert_tables.span())
    _, share = expert_tables.held("tpot")
    promised, inside = f"{100 * INSIDE:.0f}", f"{100 * share:.0f}"
    rows.append((MIXTURE, f"{least}–{most}", "–", "its band", promised, inside, "–"))
    return Table(
        "What is new in your case, and what to plan with: errors of TPOT, and rows "
        "that the factors held, in per cent",
        (
            "what is new",
            "mean error",
            "worst server",
            "factor of",
            "meant to hold",
            "TPOT held",
            "TTFT held",
        ),
        rows,
        notes=(
            "Cross-validated, but for the errors of mixtures. Each left-out row has a "
            "factor of its own by the rule of its line. Only "
            f"the server, to the slow side alone: {len(beyond('engine'))} vLLM rows of "
            "the 70B, each factor made from other servers. Book’s band, up and down: "
            "in brackets the least and the most that one engine, model or kind of GPU "
            "held. TTFT has rows of one model. Without H100 the rows of one model "
            "remain, too few for a band. Mixtures: errors blind, the least and the "
            "most of five trials; held of the fourth’s runs, by a band made without "
            "them.",
        ),
    )


LABELS = {"only the server": "server"} | {words: by for by, words in NEW.items()}
OWN_RUNS, MIXTURE = "its own two runs", "a mixture of experts"


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
    ``slack`` is the promised TPOT over the predicted one, ``slower`` the share of the
    engine's rows whose measured TPOT was longer by more than that, and ``risk`` the
    share that was longer than the row's own factor allows.
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
    slack: float | None
    slower: float | None
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
            "servers": str(self.servers),
            "GPUs": str(self.gpus),
            "promised / predicted TPOT": (
                "–" if self.slack is None else f"{self.slack:.3f}"
            ),
            "rows slower than that": _share(self.slower),
            "slower than their own factor": _share(self.risk),
        }


def _share(found: float | None) -> str:
    return "–" if found is None else per_cent(found)


def worked_plans() -> tuple[WorkedPlan, ...]:
    """The plans of the decision, and at last one by a measurement."""
    plans = [_worked(_planned(rule), rule, which) for _, rule, which in PLANS]
    return (*plans, _worked(decision.hoped(), None, "measured_s"))


def plans() -> Table:
    """The plans side by side, each line to be worked again, and what may break."""
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
            "Slower: share of the vLLM rows with a public script whose measured over "
            "predicted TPOT is larger than the line above (cross-validated). Own "
            "factor: the same, each row beside the factor that other servers give "
            "it; the power is chosen without vLLM.",
            "Measured: the answer’s time is computed before its parts are rounded.",
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
        slack=plan_slack(rule) if rule else None,
        slower=risk("prediction", plan_slack(rule)) if rule else None,
        risk=risk(rule) if rule and widened else None,
    )


def _time(one: Forecast, name: str) -> float:
    return float(getattr(one, name))


def plan_slack(rule: Rule) -> float:
    """The promised TPOT over the one that is predicted with a plan's clients."""
    return TPOT_S / _planned(rule).tpot.predicted_s
