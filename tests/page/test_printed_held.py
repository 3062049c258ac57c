"""Every cell that prints a number is held by a test that computes it again.

A new cell that prints belongs into ``test_printed_counts`` (it follows from sizes),
``test_printed_runs`` (from a run) or, in a solution, into the answer of its question.
"""

import re

import pytest

from tests.page.records import CHAPTERS
from tests.page.test_printed_counts import LINES, pattern, plain
from tests.page.test_printed_numbers import PRINTED
from tests.page.test_solutions_said import CELLS, SOLVING

# In test_printed_runs, _simulated and _checks, and in _capacity and _twin.
PLAYED = {
    "attention_ffn": "c62af8e5",
    "capacity": "cap-own-plan ex-own-q ex-own-s1",
    "continuous_batching": "23f81b8a 9848c640",
    "deepseek_twin": "dtc0054 dtc0057",
    "disaggregation": "30921430 ce785464 a0d46f1d",
    "flash_attention": "ddb86fac",
    "how_wrong": "c27 c68 c71",
    "mixture_of_experts": "d7a7fe29 3777ed14",
    "quantization": "07a6ee0c 70de87b4 ab16578b",
    "roofline": "c9e40815 f916c71b",
    "speculative_decoding": "2665c003 bc492592",
    "symptoms": "993f446b",
    "tensor_parallel": "bbb5d833 ef8ea447",
    "varlen_batching": "e766b2de",
}
ELSEWHERE = {  # in the tests of a chapter: the first of afd, and commands
    "attention_ffn": "959fd6e8 0fbe2ab6 6d5e216e",
    "continuous_batching": "a5bac411 clients0cmd1 client-two",
    "disaggregation": "pd-commands",
    "mixture_of_experts": "2ab50500 two-commands watching",
    "parallelism": "vllm-commands",
    "symptoms": "ypromql01",
    "tensor_parallel": "serve-cmd bench-cmd",
}
NO_RESULT = {  # a number that is no result: a case, a name, a limit, "to 1e-12: True"
    "attention_ffn": "9b607589",
    "catalog": "families",
    "continuous_batching": "eb9c45a7",
    "kv_memory": "kernel 0307ab03",
    "roofline": "c337b58a",
    "sources": "9bc176af",
    "symptoms": "9df5200f y17503a6",
}
OPEN = {  # held by the tests of its exercise or of its function, not from the page
    "continuous_batching": "da98de17 cf9ecfb5",
    "end_to_end": "mend1mh2",
    "how_wrong": "c41c",
    "kv_memory": "cba67d27",
    "sources": "34b04aaa",
    "symptoms": "y78a8efc",
}
TABLES = (PLAYED, ELSEWHERE, NO_RESULT, OPEN)


def named(chapter: str) -> set[str]:
    """Cells of a chapter that stand in one of the tables."""
    return {each for table in TABLES for each in table.get(chapter, "").split()}


def held(chapter: str, text: str) -> bool:
    """Whether the words of a line whose numbers are computed stand in a text."""
    lines = [words for words, _ in PRINTED.get(chapter, ())]
    lines += [words for of, words, _ in LINES if of == chapter]
    return any(pattern(words).search(plain(" ".join(text.split()))) for words in lines)


PRINTING = [
    (at, cell.printed) for at, cell in CELLS.items() if re.search(r"\d", cell.printed)
]


@pytest.mark.parametrize("chapter", [path.stem for path in CHAPTERS])
def test_every_cell_that_prints_a_number_is_held(chapter: str) -> None:
    own = {
        at.partition(" ")[2]: at in SOLVING or held(chapter, text)
        for at, text in PRINTING
        if at.partition(" ")[0] == chapter
    }
    open_ = {name for name, is_held in own.items() if not is_held}
    assert open_ == named(chapter)
