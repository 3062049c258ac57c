"""A request is a time and two lengths: when it comes, what it brings, what it wants."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: it arrives, its prompt is read once, its tokens come one by one.

    Args:
        arrival_s: when it arrives, in seconds from the start of the run.
        prompt_len: tokens of the prompt, at least 1.
        output_len: tokens produced, at least 1; the first is emitted by the prefill.
        id: tells it from the others of its workload.
        prefix: names of the prompt's blocks from its beginning on; two requests share
            as much of a prompt as they agree in leading names.

    Raises:
        ValueError: a length is below 1 token, or the arrival is not a time from 0 on.
    """

    arrival_s: float
    prompt_len: int
    output_len: int
    id: int
    prefix: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.arrival_s < float("inf"):
            raise ValueError(f"arrival_s must be finite and >= 0, got {self.arrival_s}")
        if self.prompt_len < 1:
            raise ValueError(
                f"prompt_len must be at least 1 token, got {self.prompt_len}"
            )
        if self.output_len < 1:
            raise ValueError(
                f"output_len must be at least 1 token, got {self.output_len}"
            )
