"""The AFD paper, sections 3 and 4.1: the recursion, its solution, its averages."""

from __future__ import annotations

from math import isclose

import numpy as np

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.experiments.trace_moments import TRACES
from llmserve_lab.afd.simulation.length_distributions import (
    Geometric,
    Independent,
    Uniform,
)
from llmserve_lab.afd.theory import corrected_model
from llmserve_lab.catalog import accelerator
from llmserve_lab.checks import whole
from llmserve_lab.claims.afd.coefficients import known
from llmserve_lab.claims.afd.setting import (
    OPEN,
    exact,
    per_thousand_cycles,
    rounded,
    without_end,
)
from llmserve_lab.claims.article_07.setting import mixture_flops
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Size, Statement
from llmserve_lab.deepseek.executed.mla import execute

KNOWN = paper_setup.known()
H100 = accelerator("h100-sxm")
MEAN, BATCH = paper_setup.PROMPT, paper_setup.BATCH
SAME = {"rel_tol": 1e-6}
MOST_WALKED = 10**4


def planned() -> float:
    """Steps of the paper's run by ``n_steps``."""
    return float(f.N_STEPS.at(KNOWN, n_requests=paper_setup.REQUESTS))


def mean_of_law() -> float:
    """Mean of the geometric law, summed over its table."""
    lengths, chances = Geometric.stopping(KNOWN["p_stop"], least=0).table()
    return float(lengths @ chances)


def walked(steps: int) -> float:
    """The recursion ``next_decode_load``, step by step from nothing."""
    whole(of="step", first=0, most=MOST_WALKED, steps=steps)
    load = 0.0
    for _ in range(steps):
        load = float(f.NEXT_DECODE_LOAD.at(KNOWN, decode_load=load))
    return load


def solved(steps: float) -> float:
    """The solution ``decode_load``."""
    return float(f.DECODE_LOAD.at(KNOWN, step_index=steps))


def prompts_after(steps: int) -> float:
    """Expected prompt tokens in the slots, renewal by renewal from the law of answers.

    A slot is taken at step j with chance u_j; its request is still there at the end if
    its answer is long enough. Prompts and answers are drawn apart.
    """
    whole(of="step", first=0, most=MOST_WALKED, steps=steps)
    _, chances = Geometric.stopping(KNOWN["p_stop"], least=0).table()
    left = 1 - np.concatenate([[0.0], np.cumsum(chances)])  # longer than n steps
    taken = [1.0]
    for step in range(1, steps + 1):
        taken.append(float(np.dot(taken, chances[:step][::-1])))
    still = float(np.dot(taken, left[: steps + 1][::-1]))
    return KNOWN["batch"] * KNOWN["mean_prompt"] * still


def settled() -> float:
    """Tokens in all slots in the long run."""
    return KNOWN["batch"] * float(f.SLOT_TOKENS_GEOMETRIC.at(KNOWN))


def over_the_run() -> float:
    """Tokens in all slots, mean over the steps of the paper's run, one by one."""
    steps = np.arange(round(planned()))
    answers = np.asarray(f.DECODE_LOAD.at(KNOWN, step_index=steps))
    return KNOWN["batch"] * KNOWN["mean_prompt"] + float(answers.mean())


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


def attention_growth() -> float:
    """FLOPs of one row's attention over 2,000 tokens, over those of 1,000, counted."""
    once, twice = (
        execute("absorbed", n_rows=1, context=keys - 1).meter.useful_attn_flops
        for keys in (1000, 2000)
    )
    return twice / once


def ffn_growth() -> float:
    """FLOPs of a mixture of experts for twice the rows, over those for once."""
    once, twice = (mixture_flops(rows) for rows in (24, 48))
    return twice / once


def rows_of_an_expert() -> float:
    """Rows of an expert at the paper's best ratio."""
    return BATCH * without_end() * float(f.EXPERT_ROWS.at(known()))


def rows_wanted() -> float:
    """Rows at which an expert of one byte a weight leaves the memory's side."""
    return float(H100.peak("fp8")) / float(H100.hbm_bw) / 2


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
                lambda: isclose(
                    prompts_after(99), KNOWN["batch"] * KNOWN["mean_prompt"], **SAME
                ),
                lambda: f"{prompts_after(99):,.0f} tokens",
            ),
        ),
        why="Counted over the times at which a slot changes hands; it holds if prompts "
        "do not go with answers.",
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
    rounded(
        id="000-05",
        section="§4.2",
        says="A run of N requests takes N/(B·p) steps",
        parts=(
            Size("equation 12", planned, lambda: float(steps_of_run()), label="steps:"),
        ),
        why="Simulated, over all batches; with two in flight each makes half of them.",
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
    rounded(
        id="000-07",
        section="§A.2",
        says="Over a run of N requests the mean load is lower by a term in B²/N",
        parts=(Size("expansion", shortened, over_the_run, unit="token"),),
        why="A leading term: a run has whole steps, and the last of them counts.",
    ),
    rounded(
        id="000-34",
        section="§3.3",
        says="Only the mean of the prompts matters, their law does not",
        parts=(
            Size(
                "only the mean",
                lambda: per_thousand_cycles(by_prompts(Geometric(MEAN, least=0))),
                lambda: per_thousand_cycles(by_prompts(Uniform(MEAN, MEAN))),
                unit="token",
                label="r = 8, in 1,000 cycles, prompts spread and all alike:",
            ),
        ),
        why=lambda: (
            "Exactly so for the mean load, nearly for the throughput at the paper's "
            "prompts: the slowest instance depends on the spread, "
            f"{prompts_matter():.1%} at prompts of 2,000; prompts that go with answers "
            "change the load itself."
        ),
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
            Size(
                "linear",
                lambda: (2.0, 2.0),
                lambda: (attention_growth(), ffn_growth()),
                label="FLOPs, Attention and FFN, for twice as much:",
                exactly=True,
            ),
        ),
        why=lambda: (
            "Executed and counted. The time of the FFN is linear only where arithmetic "
            "binds: at the best ratio an expert has "
            f"{rows_of_an_expert():.0f} rows, and an H100 in FP8 wants "
            f"{rows_wanted():.0f}."
        ),
    ),
)
