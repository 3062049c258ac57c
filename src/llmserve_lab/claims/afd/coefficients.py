"""The AFD paper, appendix B: sizes of DeepSeek-V3, and what they make of a layer."""

from __future__ import annotations

from functools import cache, partial

from llmserve_lab import catalog
from llmserve_lab.afd import formulas as f
from llmserve_lab.afd.simulation.bundle import CYCLE_S, ascend
from llmserve_lab.afd.theory.coefficients import layer
from llmserve_lab.claims.afd.setting import OPEN, ROUNDED, exact, mixed, wrong
from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Statement
from llmserve_lab.formula.formula import Formula

V3 = catalog.model("deepseek-v3")
PRINTED = {
    "a_attn": "0.00165",
    "b_attn": "50",
    "a_ffn": "0.083",
    "b_ffn": "100",
    "a_comm": "0.022",
    "b_comm": "20",
}


@cache
def known() -> dict[str, catalog.Given]:
    """One layer of DeepSeek-V3; the machine does not matter to what is claimed."""
    return layer(V3, catalog.accelerator("h800-sxm"))


def at(formula: Formula, **changes: float) -> float:
    """A formula for that layer."""
    return float(formula.at(known(), **changes))


def rows_of_a_request() -> float:
    """Rows of all experts for each request of the batch, over those of one token."""
    copies = float(known()["n_experts"]) / float(known()["top_k"])
    return at(f.EXPERT_ROWS) * copies


def credited() -> float:
    """Tokens that the throughput (6) counts for a request and step."""
    step = {"batch": 1.0, "cycle_s": 1.0, "af_ratio": 1.0}
    here = float(f.INSTANCE_TOKENS_PER_S(**step))
    return here * 2  # one Attention instance of a bundle of two


def cycles(name: str) -> float:
    """A fitted coefficient in the paper's unit."""
    return ascend()[name] / CYCLE_S


def bytes_for(n_cards_experts: float) -> float:
    """Wire time per request with so many experts on a card."""
    return at(f.A_COMM, experts_per_card=n_cards_experts)


CLAIMS = (
    exact(
        id="000-40",
        section="§B.1",
        says="Numbers that MLA caches for a token in a layer",
        parts=(
            Number("576", "element", lambda: V3.kv_elements_per_token / V3.n_layers),
        ),
        why="The latent and the rotary key.",
    ),
    exact(
        id="000-41",
        section="§B.2",
        says="Bytes of them in 16 bits",
        parts=(
            Number("1152 byte", "byte", lambda: V3.kv_bytes_per_token() / V3.n_layers),
        ),
        why="Two bytes a number.",
    ),
    Claim(
        id="000-42",
        section="§B.3",
        says="FLOPs of a row in one expert",
        parts=(Number("8.81 × 10⁷", "FLOP", lambda: at(f.EXPERT_FLOPS)),),
        verdict=ROUNDED,
        why="Three matrices, two FLOPs for each of their numbers.",
    ),
    exact(
        id="000-43",
        section="§B.3",
        says="Requests in the aggregated batch for each row of an expert",
        parts=(Number("16", "dimensionless", lambda: 1 / at(f.EXPERT_ROWS)),),
        why="256 experts, 8 a row, two rows a request.",
    ),
    exact(
        id="000-44",
        section="§B.4",
        says="Bytes of a row on the wire, there and back",
        parts=(Number("21504 byte", "byte", lambda: at(f.ROW_WIRE_BYTES)),),
        why="One byte out and two back for each number of the row.",
    ),
    wrong(
        id="000-45",
        section="§B.4",
        says="The two sides of equation 36 are equal",
        parts=(
            Statement(
                "equation 36",
                lambda: bytes_for(8) == bytes_for(1),
                lambda: f"{bytes_for(8) / bytes_for(1):g} times with 8 experts a card",
            ),
        ),
        why="The number of experts on a card is lost on the way, and back in equation "
        "38.",
    ),
    exact(
        id="000-46",
        section="§B.1",
        says="Experts that a token is sent to",
        parts=(Number("8", "dimensionless", lambda: float(known()["top_k"])),),
        why="So does the catalog, from the public configuration.",
    ),
    mixed(
        id="000-47",
        section="§B.3",
        says="Each request has one drafted token beside its own",
        parts=(
            Number(
                "2",
                "dimensionless",
                credited,
                label="rows and tokens of a request:",
                readings={"rows, not tokens": rows_of_a_request},
            ),
        ),
        why="The FFN and the wire are charged two rows a request; the throughput of "
        "equation 6 credits one token for them, as if no draft were ever accepted.",
    ),
    exact(
        id="000-48",
        section="Tables 2 and 4",
        says="The fitted coefficients, in cycles; both tables agree",
        parts=tuple(
            Number(text, "dimensionless", partial(cycles, name), name)
            for name, text in PRINTED.items()
        ),
        why="They are in the catalog as printed, so this compares a copy.",
        by_definition=True,
    ),
    Claim(
        id="000-49",
        section="§5.2",
        says="The coefficients come from a regression on traces of the machine",
        parts=(),
        verdict=OPEN,
        why="Neither traces nor peaks of the machine are published.",
    ),
)
