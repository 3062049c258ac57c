"""The AFD paper, sections 2 to 5.2: what the system is said to do."""

from __future__ import annotations

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.simulation.event_simulator import State
from llmserve_lab.afd.theory.paper_recipe import recipe, with_slot_tokens
from llmserve_lab.claims.afd.setting import ROUNDED, baseline, exact, simulated, wrong
from llmserve_lab.claims.record import Claim, Number, Statement


def twice_the_wire() -> float:
    """The shortest stage of section 5 over the time on the wire."""
    found = (with_slot_tokens(paper_setup.known(batch=b)) for b in (128, 256, 512))
    return min(
        min(float(f.ATTN_S.at(k)), float(f.FFN_S.at(k, af_ratio=1)))
        / float(f.COMM_S.at(k))
        for k in found
    )


def longer_step() -> float:
    """How much longer a step is at r* with the loop counted, two batches."""
    best = {"af_ratio": recipe(baseline()).best}
    loop = float(f.PIPELINE_S.at(baseline(), best, n_batches=2))
    return loop / float(f.CYCLE_S.at(baseline(), best)) - 1


def simulated_step() -> float:
    """How much longer the simulated step is at r = 9 than the longest mean."""
    alone = float(f.INSTANCE_TOKENS_PER_S.at(baseline(), af_ratio=9))
    return alone / float(simulated()[8]) - 1


CLAIMS = (
    exact(
        id="000-21",
        section="§5.2",
        says="Attention and FFN both take more than twice the time on the wire",
        parts=(
            Statement(
                "> 2 ×",
                lambda: twice_the_wire() > 2,
                lambda: f"{twice_the_wire():.1f} times at the least",
            ),
        ),
        why="The shortest of them is the FFN at r = 1 with the smallest batch.",
    ),
    wrong(
        id="000-22",
        section="§5.2",
        says="So pipelining hides the communication",
        parts=(
            Statement(
                "hidden",
                lambda: longer_step() < 1e-9,
                lambda: f"a step at r* is {longer_step():.1%} longer",
            ),
        ),
        why="With two batches in flight nothing of it is hidden at balance, however "
        "short it is.",
    ),
    exact(
        id="000-23",
        section="§2",
        says="Three batches or more mask the communication",
        parts=(
            Statement(
                "≥ 3",
                lambda: (
                    f.HIDDEN_COMM_S.at(baseline(), n_batches=3)
                    > f.COMM_S.at(baseline())
                ),
                lambda: "at balance three hide as much as Attention takes",
            ),
        ),
        why="The simulator of section 5.1 then has two.",
    ),
    wrong(
        id="000-36",
        section="§5.2",
        says="TPOT is the mean over all requests of decode time over tokens",
        parts=(
            Statement(
                "defined for all",
                lambda: not (paper_setup.figure_4(1).requests.decode == 0).any(),
                lambda: (
                    f"{int((paper_setup.figure_4(1).requests.decode == 0).sum())} "
                    "requests of a run generate no token"
                ),
            ),
        ),
        why="Answers may have no token, and then it divides by zero; we average over "
        "the others.",
    ),
    Claim(
        id="000-37",
        section="§3.4",
        says="Tokens that a slot generates in a step",
        parts=(Number("1", "dimensionless", lambda: 1 - baseline()["p_stop"]),),
        verdict=ROUNDED,
        why="The step that finds the end of an answer generates none, as equation 21 "
        "counts.",
    ),
    exact(
        id="000-38",
        section="§5.1",
        says="A batch goes through six states",
        parts=(Number("6", "dimensionless", lambda: float(len(State))),),
        why="The state machine of this chapter has the same.",
    ),
    exact(
        id="000-39",
        section="§3.1",
        says="7A–2F is this ratio",
        parts=(
            Number("3.5", "dimensionless", lambda: paper_setup.made(7, n_ffn=2).ratio),
        ),
        why="Seven over two.",
    ),
    wrong(
        id="000-52",
        section="§3.4",
        says="A step takes the longest of the three times at their mean loads",
        parts=(
            Statement(
                "equation 5",
                lambda: simulated_step() < 0.01,
                lambda: f"at r = 9 it takes {simulated_step():.1%} longer",
            ),
        ),
        why="The mean of a maximum is above the maximum of means, and the batch's own "
        "loop is missing.",
    ),
)
