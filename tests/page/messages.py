"""What a check answers to a reader's function: its words, and its numbers computed.

A message follows the code that makes it, and few of them are printed on a page. Here
the words of one stand with ``#`` for each number, beside numbers of other arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from llmserve_lab.afd import exercise as afd
from llmserve_lab.capacity import exercise as capacity
from llmserve_lab.continuous_batching import exercise as continuous_batching
from llmserve_lab.deepseek.executed import exercise as deepseek
from llmserve_lab.disaggregation import routing
from llmserve_lab.end_to_end import exercise as end_to_end
from llmserve_lab.flash_attention import exercise as flash_attention
from llmserve_lab.how_wrong import exercise as how_wrong
from llmserve_lab.kv_memory import exercise as kv_memory
from llmserve_lab.moe import exercise as moe
from llmserve_lab.parallelism import exercise as parallelism
from llmserve_lab.quantization import exercise as quantization
from llmserve_lab.roofline import exercise as roofline
from llmserve_lab.speculative import exercise as speculative
from llmserve_lab.symptoms import exercise as symptoms
from llmserve_lab.tensor_parallel import exercise as tensor_parallel
from llmserve_lab.varlen import exercise as varlen
from tests.page.cells import number

CHECKED: dict[str, ModuleType] = {
    "attention_ffn": afd,
    "capacity": capacity,
    "continuous_batching": continuous_batching,
    "deepseek_twin": deepseek,
    "disaggregation": routing,
    "end_to_end": end_to_end,
    "flash_attention": flash_attention,
    "how_wrong": how_wrong,
    "kv_memory": kv_memory,
    "mixture_of_experts": moe,
    "parallelism": parallelism,
    "quantization": quantization,
    "roofline": roofline,
    "speculative_decoding": speculative,
    "symptoms": symptoms,
    "tensor_parallel": tensor_parallel,
    "varlen_batching": varlen,
}
VALUE = r"([-−+]?\d[\d,]*(?:\.\d+)?)"
Wants = Callable[[], Sequence[float]]


class Answer(NamedTuple):
    """What the check of a chapter says of a function: words, and their numbers."""

    chapter: str
    given: Callable[[], Any]  # makes the reader's function, new for each run
    words: str
    wants: Wants

    def said(self) -> str:
        """The answer in one line; of what is refused, the error's message."""
        try:
            text = str(CHECKED[self.chapter].check(self.given()))
        except (TypeError, ValueError) as refused:
            text = str(refused).partition(", from ")[0]  # the call is behind it
        return " ".join(text.split())

    def untold(self, said: str) -> list[tuple[str, float]]:
        """Numbers of what was said that are others than wanted.

        Raises:
            AssertionError: its words are others, or its numbers more or fewer.
        """
        pattern = re.escape(" ".join(self.words.split())).replace(r"\#", VALUE)
        found = re.fullmatch(pattern, said)
        assert found, (said, self.words)
        pairs = zip(found.groups(), self.wants(), strict=True)
        return [(cell, float(one)) for cell, one in pairs if not _is(cell, float(one))]


def answer(chapter: str, given: Any, words: str, *wants: float | Wants) -> Answer:
    """An answer to a function; ``wants`` are numbers, or one function of them."""
    if len(wants) == 1 and callable(wants[0]):
        return Answer(chapter, lambda: given, words, wants[0])
    known = [float(each) for each in wants if not callable(each)]
    return Answer(chapter, lambda: given, words, lambda: known)


def _is(cell: str, want: float) -> bool:
    """Whether a cell is a number: rounded, or of a whole one each digit."""
    if "." not in cell and abs(want) < 1e6:
        return abs(float(cell.replace(",", "").replace("−", "-")) - want) < 0.5001
    value, off = number(cell)
    return abs(value - want) <= off + 1e-12
