"""The AFD paper, sections 3 and 4.1: the recursion, its solution, its averages."""

from __future__ import annotations

from math import isclose

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.trace_moments import TRACES
from llmserve_lab.afd.simulation.length_distributions import (
    Geometric,
    Independent,
    Uniform,
)
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.claims.afd.setting import OPEN, exact, wrong
from llmserve_lab.claims.record import Claim, Statement
from llmserve_lab.roofline import formulas as roofline

KNOWN = paper_setup.known()
SAME = {"rel_tol": 1e-6}


def planned() -> float:
    """Steps of the paper's run by ``n_steps``."""
    return float(f.N_STEPS.at(KNOWN, n_requests=paper_setup.REQUESTS))


def mean_of_law() -> float:
    """Mean of the geometric law, summed over its table."""
    lengths, chances = Geometric.stopping(KNOWN["p_stop"], least=0).table()
    return float(lengths @ chances)


def walked(steps: int) -> float:
    """The recursion ``next_decode_load``, step by step from nothing."""
    load = 0.0
    for _ in range(steps):
        load = float(f.NEXT_DECODE_LOAD.at(KNOWN, decode_load=load))
    return load


def solved(steps: float) -> float:
    """The solution ``decode_load``."""
    return float(f.DECODE_LOAD.at(KNOWN, step_index=steps))


def prompts_after(steps: int) -> float:
    """Expected prompt tokens: of requests that stay, and of the share replaced."""
    mean = KNOWN["batch"] * KNOWN["mean_prompt"]
    load, stop = mean, KNOWN["p_stop"]
    for _ in range(steps):
        load = (1 - stop) * load + stop * mean
    return load


def settled() -> float:
    """Tokens in all slots in the long run."""
    return KNOWN["batch"] * float(f.SLOT_TOKENS_GEOMETRIC.at(KNOWN))


def over_the_run() -> float:
    """Tokens in all slots, mean over the paper's run."""
    return float(f.HORIZON_LOAD.at(KNOWN, n_steps=planned()))


def shortened() -> float:
    """The same as appendix A.2 writes it: a term in B² over N less."""
    batch = KNOWN["batch"]
    return settled() - KNOWN["mean_decode"] * batch**2 / paper_setup.REQUESTS


def steps_of_run() -> int:
    """Steps that a simulated run makes, over all batches."""
    return paper_setup.figure_4(1).end + 1


def by_prompts(prompt: Geometric | Uniform) -> float:
    """Tokens per second and instance at r = 8 with these prompts, by the rule."""
    law = Independent(prompt, Geometric(500, least=0))
    return float(corrected_model.tokens_per_s(paper_setup.made(8), law.slot()))


def prompts_matter() -> float:
    """Throughput lost if prompts of the same mean differ."""
    return 1 - by_prompts(Geometric(2000, least=0)) / by_prompts(Uniform(2000, 2000))


CLAIMS: tuple[Claim, ...] = (
    exact(
        id="000-01",
        section="§3.3",
        says="A geometric answer on 0, 1, 2, … has the mean (1 − p)/p",
        parts=(
            Statement(
                "(1 − p)/p",
                lambda: isclose(mean_of_law(), float(f.MEAN_DECODE.at(KNOWN)), **SAME),
                lambda: f"{mean_of_law():.4f} tokens at p = 1/501",
            ),
        ),
        why="So a mean of 500 is p = 1/501, which the paper does not keep to.",
    ),
    exact(
        id="000-02",
        section="§4.1",
        says="Expected generated tokens in the slots after k steps",
        parts=(
            Statement(
                "equation 10",
                lambda: all(isclose(walked(k), solved(k), **SAME) for k in (1, 9, 99)),
                lambda: f"{solved(99):.1f} tokens after 99 steps",
            ),
        ),
        why="The recursion, walked step by step, gives the same.",
    ),
    exact(
        id="000-03",
        section="§4.1",
        says="Expected prompt tokens stay B times the mean prompt",
        parts=(
            Statement(
                "equation 9",
                lambda: isclose(prompts_after(99), prompts_after(0), **SAME),
                lambda: f"{prompts_after(99):,.0f} tokens",
            ),
        ),
        why="Whoever leaves is replaced by one with the same mean.",
    ),
    exact(
        id="000-04",
        section="§4.1",
        says="The expected decode load saturates at B times the mean answer",
        parts=(
            Statement(
                "saturates",
                lambda: isclose(solved(2e4), 256 * KNOWN["mean_decode"], **SAME),
                lambda: f"{solved(2e4):,.0f} tokens",
            ),
        ),
        why="What is missing dies out with the first requests.",
    ),
    exact(
        id="000-05",
        section="§4.2",
        says="A run of N requests takes N/(B·p) steps",
        parts=(
            Statement(
                "equation 12",
                lambda: isclose(steps_of_run(), planned(), rel_tol=0.02),
                lambda: (
                    f"{steps_of_run():,} simulated, {planned():,.0f} by the formula"
                ),
            ),
        ),
        why="Over all batches; with two in flight each makes half of them.",
    ),
    exact(
        id="000-06",
        section="§4.2",
        says="In the long run a full batch holds B times (mean prompt + mean answer)",
        parts=(
            Statement(
                "equation 14",
                lambda: isclose(
                    settled(), float(f.HORIZON_LOAD.at(KNOWN, n_steps=1e9)), **SAME
                ),
                lambda: f"{settled():,.0f} tokens",
            ),
        ),
        why="The mean over a run without end gives the same.",
    ),
    exact(
        id="000-07",
        section="§A.2",
        says="Over a run of N requests the mean load is lower by a term in B²/N",
        parts=(
            Statement(
                "expansion",
                lambda: isclose(over_the_run(), shortened(), rel_tol=1e-3),
                lambda: f"{over_the_run():,.0f} and {shortened():,.0f} tokens",
            ),
        ),
        why="What it leaves out is (1 − p) to the power of the steps.",
    ),
    wrong(
        id="000-34",
        section="§3.3",
        says="Only the mean of the prompts matters, their law does not",
        parts=(
            Statement(
                "only the mean",
                lambda: abs(prompts_matter()) < 0.005,
                lambda: f"{prompts_matter():.1%} of the throughput at r = 8",
            ),
        ),
        why="It holds for the mean load; the slowest instance depends on the spread, "
        "and prompts that go with answers change the load itself.",
    ),
    Claim(
        id="000-53",
        section="Figure 3",
        says="Answers of production traces are geometric",
        parts=(),
        verdict=OPEN,
        why=lambda: (
            "Its traces are not printed; in three other public ones the standard "
            "deviation is not the mean but "
            + ", ".join(f"{each.spread():.2f}" for each in TRACES.values())
            + " of it."
        ),
    ),
    exact(
        id="000-54",
        section="§2",
        says="Attention's cost is linear in the context, the FFN's in the requests",
        parts=(
            Statement(
                "linear",
                lambda: isclose(_bytes(2000) / _bytes(1000), 2, **SAME),
                lambda: f"{_bytes(2000) / _bytes(1000):g} times the bytes",
            ),
        ),
        why="While memory, or arithmetic, is what each waits for.",
    ),
)


def _bytes(context: float) -> float:
    return float(
        roofline.KV_READ_BYTES(batch=1, context=context, kv_bytes_per_token=1152)
    )
