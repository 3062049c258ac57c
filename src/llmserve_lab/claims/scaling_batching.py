"""The scaling chapter on batching and chunked prefill."""

from __future__ import annotations

from llmserve_lab.claims.record import Claim, Number, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.continuous_batching import formulas as f

PROMPT, CHUNK = 10_000, 512
PAPERS = {2023: "SARATHI", 2024: "Sarathi-Serve"}  # arXiv 2308.16369, and at OSDI


def turns() -> float:
    """Chunks of the example."""
    return float(f.NUM_CHUNKS(prompt_len=PROMPT, chunk=CHUNK))


def last_slice() -> float:
    """Rows of its last chunk."""
    return PROMPT - float(f.LAST_PREFIX(prompt_len=PROMPT, chunk=CHUNK))


CLAIMS = (
    Claim(
        id="003-04",
        section="chunked prefill",
        says="Chunks of a prompt of 10,000 tokens at 512 a turn, and the last of them",
        parts=(
            Number("20", "dimensionless", turns, label="turns"),
            Number("272 tokens", "token", last_slice, label="last"),
        ),
        verdict=Ruling.EXACT,
        why="A last chunk that is not full takes its turn all the same.",
    ),
    Claim(
        id="003-22",
        section="references",
        says="Sarathi-Serve, by its title of 2023, is where chunked prefill is from",
        parts=(
            Statement(
                "Sarathi-Serve … Piggybacking Decodes with Chunked Prefills. 2023",
                lambda: PAPERS[2023] == "Sarathi-Serve",
                lambda: f"{PAPERS[2023]} in 2023, {PAPERS[2024]} in 2024",
            ),
        ),
        verdict=Ruling.WRONG,
        why="The preprint of that title and year presents SARATHI; Sarathi-Serve is "
        "the system of a later paper, at OSDI.",
    ),
    Claim(
        id="003-25",
        section="batching sketch",
        says="A loop that admits requests and runs one decode step for all",
        parts=(),
        verdict=Ruling.CANNOT_BE_CHECKED,
        why="The prefill is a comment: as it stands, the first decode step finds no "
        "cache, and how prompts share an iteration is left open.",
    ),
)
