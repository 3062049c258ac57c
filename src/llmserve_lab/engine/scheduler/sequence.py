"""A request inside the engine: its known tokens, and how many of them have KV entries.

A prompt of 1,000 tokens is 1,000 known tokens and none cached; while it is decoded, all
known tokens but the newest are cached. What is known and not cached is pending; when
nothing is pending, the model has produced the next token. A decode has one pending.
"""

from __future__ import annotations

from math import nan

from llmserve_lab.engine.scheduler.request import Request

MOST_STEPS = 2**24  # tokens of a request whose iterations are taken one by one


class Sequence:
    """State of one request, mutable; times in seconds, lengths in tokens."""

    __slots__ = (
        "cached",
        "dropped",
        "emitted",
        "first_token_s",
        "hit_tokens",
        "joined_at_step",
        "known",
        "last_token_s",
        "number",
        "preemptions",
        "remote_prefix_tokens",
        "request",
        "reserved",
        "scheduled_s",
        "sent_s",
        "swapped",
        "table",
        "transfer_s",
        "worst_gap_s",
    )

    def __init__(self, request: Request) -> None:
        self.request = request
        self.known = request.prompt_len
        self.cached = 0
        self.emitted = 0
        self.hit_tokens = 0  # of the prompt, found in the prefix cache
        self.remote_prefix_tokens = 0  # leading tokens the decode pool already caches
        self.number = 0  # its place in the order of admission
        self.reserved = 0  # blocks held whatever is cached; 0 where they grow
        self.joined_at_step = 0  # the decode batch's clock when it joined
        self.preemptions = 0
        self.dropped = 0  # tokens whose KV the last preemption threw away
        self.swapped = False  # whether its KV is in the host's memory
        # Blocks that others may share, and its own, where they are really taken.
        self.table: tuple[list[int], list[int]] = ([], [])
        self.scheduled_s = nan
        self.first_token_s = nan
        self.last_token_s = nan
        self.worst_gap_s = 0.0
        self.transfer_s = 0.0
        self.sent_s = 0.0

    @property
    def pending(self) -> int:
        """Tokens known and not cached: rows that the model has to run."""
        return self.known - self.cached

    @property
    def left(self) -> int:
        """Tokens still to be produced."""
        return self.request.output_len - self.emitted

    def emit(self, now_s: float) -> float:
        """Take the next token; return the gap since the last one, NaN at the first."""
        self.emitted += 1
        self.known += 1
        gap_s, self.last_token_s = now_s - self.last_token_s, now_s
        if self.emitted == 1:
            self.first_token_s = now_s
        elif gap_s > self.worst_gap_s:
            self.worst_gap_s = gap_s
        return gap_s

    def require_context(self, limit: int | None, *, leap: bool = True) -> None:
        """Refuse what is longer than the model reads, or than is taken one by one.

        Raises:
            ValueError: prompt and answer have more than ``limit`` tokens, or, without
                ``leap``, so many that their iterations would run for hours.
        """
        tokens = self.known + self.left
        if limit is not None and tokens > limit:
            raise ValueError(
                f"request {self.request.id} must have at most {limit:,} tokens of "
                f"prompt and answer, the max_context of the model, got {tokens:,}"
            )
        if not leap and tokens > MOST_STEPS:
            raise ValueError(
                f"request {self.request.id} must have at most {MOST_STEPS:,} tokens "
                f"with leap=False, which takes iterations one by one, got {tokens:,}"
            )

    def __repr__(self) -> str:
        return (
            f"Sequence(id={self.request.id}, known={self.known}, "
            f"cached={self.cached}, emitted={self.emitted})"
        )
