"""The scaling chapter on batching and chunked prefill."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.claims.claim import Claim
from llmserve_lab.claims.parts import Number, Passages, Statement
from llmserve_lab.claims.verdict import Ruling
from llmserve_lab.continuous_batching import formulas as f

PROMPT, CHUNK = 10_000, 512
PROMPT_OF_SKETCH = 5  # tokens of a request sent through the sketch


def turns() -> float:
    """Chunks of the example."""
    return float(f.NUM_CHUNKS(prompt_len=PROMPT, chunk=CHUNK))


def last_slice() -> float:
    """Rows of its last chunk."""
    return PROMPT - float(f.LAST_PREFIX(prompt_len=PROMPT, chunk=CHUNK))


@dataclass
class Sketched:
    """A request of the sketch, and how many of its tokens are in the cache."""

    prompt: int
    cached: int = 0
    at_first_decode: int | None = None

    def run_prefill(self) -> None:
        """Put the prompt into the cache."""
        self.cached = self.prompt

    def decode(self) -> None:
        """One token more; the first time, note what the step found."""
        if self.at_first_decode is None:
            self.at_first_decode = self.cached
        self.cached += 1


def cached_at_first_decode(*, prefilled: bool) -> int:
    """Prompt tokens that the first decode step finds: admit, append, decode for all."""
    queue, active = [Sketched(PROMPT_OF_SKETCH)], list[Sketched]()
    for _ in range(2):
        while queue:
            new = queue.pop(0)
            if prefilled:
                new.run_prefill()
            active.append(new)
        for each in active:
            each.decode()
    return active[0].at_first_decode or 0


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
            Passages(
                "Sarathi-Serve, 2023",
                "SARATHI, 2023",
                "the preprint of that title (arXiv 2308.16369)",
                outside=True,
            ),
        ),
        verdict=Ruling.WRONG,
        why="The preprint of that title and year presents SARATHI; Sarathi-Serve is "
        "the system of a later paper, at OSDI.",
    ),
    Claim(
        id="003-25",
        section="batching sketch",
        says="A loop that runs the prefill of new requests, then one decode step for "
        "all",
        parts=(
            Statement(
                "prefill for new requests",
                lambda: cached_at_first_decode(prefilled=False) == PROMPT_OF_SKETCH,
                lambda: (
                    f"{cached_at_first_decode(prefilled=False)} of {PROMPT_OF_SKETCH} "
                    "prompt tokens are cached at the first decode step"
                ),
                cases={
                    "its comment made a call": lambda: (
                        cached_at_first_decode(prefilled=True) == PROMPT_OF_SKETCH
                    )
                },
            ),
        ),
        verdict=Ruling.INCONSISTENT,
        why="The text runs a prefill, the listing has it as a comment; how prompts "
        "share an iteration is left open.",
    ),
)
