"""The AFD paper, sections 2 to 5.2: what the system is said to do."""

from __future__ import annotations

from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.experiments import paper_setup
from llmserve_lab.afd.simulation.event_simulator import State
from llmserve_lab.afd.theory.paper_recipe import recipe, with_slot_tokens
from llmserve_lab.claims.afd.setting import (
    ROUNDED,
    baseline,
    exact,
    mixed,
    simulated,
    wrong,
)
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Passages, Size, Statement


def over_the_wire() -> dict[tuple[str, int], float]:
    """Time of each stage of section 5 over the time on the wire, by stage and batch."""
    found = {}
    for batch in (128, 256, 512):
        k = with_slot_tokens(paper_setup.known(batch=batch))
        wire = float(f.COMM_S.at(k))
        found["Attention", batch] = float(f.ATTN_S.at(k)) / wire
        found["FFN at r = 1", batch] = float(f.FFN_S.at(k, af_ratio=1)) / wire
    return found


def _shortest() -> str:
    found = over_the_wire()
    stage, batch = min(found, key=lambda each: found[each])
    return f"The shortest of them is the {stage} with a batch of {batch}."


def longer_step() -> float:
    """How much longer a step is at r* with the loop counted, two batches."""
    best = {"af_ratio": recipe(baseline()).best}
    loop = float(f.PIPELINE_S.at(baseline(), best, n_batches=2))
    return loop / float(f.CYCLE_S.at(baseline(), best)) - 1


def simulated_step(ratio: int) -> float:
    """The simulated step over the longest of the mean times, at one ratio."""
    alone = float(f.INSTANCE_TOKENS_PER_S.at(baseline(), af_ratio=ratio))
    return alone / float(simulated()[ratio - 1])


CLAIMS = (
    exact(
        id="000-21",
        section="§5.2",
        says="Attention and FFN both take more than twice the time on the wire",
        parts=(
            Statement(
                "> 2 ×",
                lambda: min(over_the_wire().values()) > 2,
                lambda: f"{min(over_the_wire().values()):.1f} times at the least",
            ),
        ),
        why=_shortest,
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
    mixed(
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
            Passages("≥ 3 batches", "2 batches", "its own simulator, §5.1"),
        ),
        why="With two, nothing is hidden at balance.",
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
        why="It is how the paper's simulator is built; ours is a copy of it.",
        by_definition=True,
    ),
    exact(
        id="000-39",
        section="§3.1",
        says="7A–2F is this ratio",
        parts=(
            Number("3.5", "dimensionless", lambda: paper_setup.made(7, n_ffn=2).ratio),
        ),
        why="Seven over two.",
        by_definition=True,
    ),
    mixed(
        id="000-52",
        section="§3.4",
        says="A step takes the longest of the three times at their mean loads",
        parts=(
            Size(
                "equation 5",
                lambda: 1.0,
                lambda: simulated_step(9),
                label="simulated at r = 9, over it:",
                readings={"one side much the slower": lambda: simulated_step(24)},
            ),
        ),
        why="The mean of a maximum is above the maximum of means, and the batch's own "
        "loop is missing; where one side is much the slower, neither matters.",
    ),
)
