"""What is asked of a server of one's own: a request, two promises, a rate."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab.checks import positive, whole
from llmserve_lab.engine import IterationLoad


@dataclass(frozen=True, kw_only=True)
class ServerDemand:
    """Tokens in and out, the promised mean TTFT and TPOT, and the requests per second.

    ``cached`` is the share of a prompt that a prefix cache holds already. ``rate`` may
    be left out. ``gpus`` is how many a node has.

    Raises:
        ValueError: a number is out of range; an answer needs a second token.
    """

    prompt: int
    answer: int
    ttft_s: float
    tpot_s: float
    rate: float | None = None
    cached: float = 0.0
    gpus: int = 8
    precision: str | None = None

    def __post_init__(self) -> None:
        whole(of="token", prompt=self.prompt)
        whole(of="token", first=2, answer=self.answer)
        whole(of="GPU", gpus=self.gpus)
        positive("ttft_s", self.ttft_s)
        positive("tpot_s", self.tpot_s)
        if self.rate is not None:
            positive("rate", self.rate)
        if not 0 <= self.cached < 1:
            raise ValueError(f"cached must be in [0, 1), got {self.cached}")

    @property
    def length(self) -> int:
        """Tokens of a whole request."""
        return self.prompt + self.answer

    @property
    def steps(self) -> int:
        """Decode steps of an answer: its first token comes with the prompt."""
        return self.answer - 1

    @property
    def reading(self) -> IterationLoad:
        """A prompt in one step, but for what is cached; its last token is read."""
        held = min(int(self.cached * self.prompt), self.prompt - 1)
        return IterationLoad.of(chunk=self.prompt - held, context=held)

    def decodes(self, batch: float) -> IterationLoad:
        """A mean decode step of so many answers, a part of one included."""
        first = IterationLoad.of(chunk=1, context=self.prompt)
        last = IterationLoad.of(chunk=1, context=self.length - 2)
        both = first.plus(last)
        return IterationLoad._make(batch * each / 2 for each in both)
