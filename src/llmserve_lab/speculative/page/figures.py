"""The chapter's figures: a round stepped, tokens of a pass, and when drafts lose."""

from __future__ import annotations

from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Value, Verdict
from llmserve_lab.page.step.figure import StepFigure
from llmserve_lab.speculative import formulas as f
from llmserve_lab.speculative.machine import (
    MOST,
    SMALL,
    break_even,
    drafting_s,
    plain_s,
    published,
    usual,
)
from llmserve_lab.speculative.page import charts, rounds

CHAINS = tuple(map(float, range(1, MOST + 1)))
RATES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.84, 0.9)
# EAGLE and EAGLE-3 with three drafts; Llama-3.2-1B near 256 requests, near 64 and at
# one; Qwen3-0.6B for Qwen3-8B.
COSTS = (0.13, 0.2, 0.21, 0.235, 0.27, 0.375)
FALLS = (0.75, 0.8, 0.85, 0.9, 0.93, 0.97, 1.0)
BATCHES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 65, 80, 96, 128, 192, 256)
NEAR = 1.01  # tokens needed over those yielded: less, and the batch before it gains
SHOWN = "Kimi-K2.5, EAGLE-3, thinks"


def small_cost() -> float:
    """A pass of the small model over a plain pass where eight drafts lose first."""
    batch = break_even(MOST, usual(), SMALL)
    assert batch is not None, "eight drafts of the small model lose at some batch"
    ratio = drafting_s(batch, 1, SMALL) / plain_s(batch)
    return min(COSTS, key=lambda each: abs(each - ratio))


def one_round() -> StepFigure:
    """Drafts, checks and the token at the end, on the chapter's two transformers."""
    return rounds.round_steps()


def tokens_of_a_pass() -> LiveFigure:
    """Published tokens of a pass, and two formulas fitted to their first points."""
    fits = published()
    columns = {
        "accept_rate": tuple(round(fit.alpha, 2) for fit in fits),
        "accept_fall": tuple(round(fit.falls, 6) for fit in fits),
    }
    last = tuple(fit.curve.tokens[-1] for fit in fits)
    names = tuple(fit.curve.name for fit in fits)
    return LiveFigure(
        name="tokens-of-a-pass",
        title="Later drafts are kept less often than the first",
        chart=charts.tokens,
        controls=(
            Choice("curve", "Model and drafts", names, SHOWN, columns),
            Lookup("measured_accepted", ("curve",), last, "token/request"),
        ),
        readouts=(
            Readout("measured_accepted", "Tokens of a pass, eight drafts: measured"),
            Readout(
                f.ACCEPTED, "By constant acceptance", name="flat_accepted", n_draft=8.0
            ),
            Readout(
                f.ACCEPTED_FALLING,
                "By falling acceptance",
                name="falling_accepted",
                n_draft=8.0,
            ),
        ),
        sentence=(
            "{curve}: with eight drafts a pass yields {measured_accepted}; "
            "constant acceptance, fitted at one draft, says {flat_accepted}, "
            "falling acceptance, fitted at one and four, {falling_accepted}."
        ),
    )


def when_drafts_lose() -> LiveFigure:
    """Drafts, acceptance, draft cost and batch: the speedup, and where it ends."""
    known = charts.served()
    needed: dict[str, Value] = {k: known[k] for k in _asked(known)}
    return LiveFigure(
        name="when-drafts-lose",
        title="The larger the batch, the less drafts gain; too many of them lose",
        chart=charts.gain,
        controls=(
            Slider(quantity("n_draft"), CHAINS, 8.0, "Drafts of a request"),
            Slider(quantity("accept_rate"), RATES, usual().rate, "First draft is kept"),
            Slider(
                quantity("accept_fall"), FALLS, usual().falls, "Factor, draft to draft"
            ),
            Slider(quantity("draft_cost"), COSTS, small_cost(), "Cost of a draft pass"),
            Slider(
                quantity("batch"),
                tuple(map(float, BATCHES)),
                16.0,
                "Requests in a batch",
            ),
        ),
        derived={
            "accepted": Bound(f.ACCEPTED_FALLING),
            "accepted_needed": Bound(f.ACCEPTED_NEEDED, **needed),
            "speculative_speedup": Bound(f.SPEEDUP, accepted="accepted", **needed),
        },
        readouts=(
            Readout("accepted", "Tokens of a pass"),
            Readout("accepted_needed", "Tokens to break even"),
            Readout("speculative_speedup", "Speedup"),
            Verdict("gains", "Drafts", "accepted", "accepted_needed", ("lose", "gain")),
        ),
        sentence=(
            "Chains of {n_draft}, the first kept with chance {accept_rate}, a draft "
            "costs {draft_cost} of a plain pass: with {batch}, a pass yields "
            "{accepted} and needs {accepted_needed} to break even."
        ),
        goal=Goal(
            "find the smallest batch at which eight drafts lose.",
            lambda n_draft, accepted, accepted_needed: (
                (n_draft >= MOST)
                & (accepted < accepted_needed)
                & (NEAR * accepted > accepted_needed)
            ),
            {"batch": 65.0},
        ),
    )


def _asked(known: object) -> list[str]:
    """What the cost formulas ask of the machine, by name."""
    assert isinstance(known, dict)
    leaves = {leaf.name for leaf in f.ACCEPTED_NEEDED.leaves()}
    return [name for name in known if name in leaves]
