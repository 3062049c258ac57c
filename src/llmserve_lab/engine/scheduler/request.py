"""A request: its arrival, the length of its prompt, the tokens it is to produce."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from numbers import Integral

from llmserve_lab.checks import at_least, whole, whole_numbers

MOST_IDS = 1 << 53  # from there on a float cannot tell each from the next


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request: it arrives, its prompt is read once, its tokens come one by one.

    Args:
        arrival_s: when it arrives, in seconds from the start of the run.
        prompt_len: tokens of the prompt, at least 1.
        output_len: tokens produced, at least 1; the first is emitted by the prefill.
        id: tells it from the others of its workload; a whole number below 2⁵³, so that
            a report can hold it.
        prefix: names of the prompt's blocks from its beginning on; two requests share
            as much of a prompt as they agree in leading names.
        priority: read by the order :class:`Priority`; the smaller is the more urgent.
        user: number of the user that sends it, for an order that shares fairly.

    Raises:
        TypeError: the prefix is no tuple.
        ValueError: a length is no whole number from 1 on, the arrival is not a time
            from 0 on, or the id, the priority or the user is no whole number.
    """

    arrival_s: float
    prompt_len: int
    output_len: int
    id: int
    prefix: tuple[int, ...] = ()
    priority: int = 0
    user: int = 0

    def __post_init__(self) -> None:
        # Most are plain numbers, and what they are asked for here takes no call.
        arrival_s, prompt_len, output_len = (
            self.arrival_s,
            self.prompt_len,
            self.output_len,
        )
        if not (type(arrival_s) is float and 0 <= arrival_s < inf):
            at_least("arrival_s", arrival_s, 0)
        if not (type(prompt_len) is type(output_len) is int) or (
            prompt_len < 1 or output_len < 1
        ):
            whole(of="token", prompt_len=prompt_len, output_len=output_len)
        if type(self.priority) is not int or type(self.user) is not int:
            whole(first=-MOST_IDS, priority=self.priority, user=self.user)
        if type(self.prefix) is not tuple:
            raise TypeError(f"prefix must be a tuple of names, got {self.prefix!r}")
        if self.prefix and not {*map(type, self.prefix)} <= {int}:
            whole_numbers("prefix", self.prefix)
        is_whole = type(self.id) is int or isinstance(self.id, Integral)
        if not (is_whole and abs(self.id) < MOST_IDS):
            raise ValueError(f"id must be a whole number below 2⁵³, got {self.id!r}")
