"""The chapter's questions, read a second time from the prompts alone."""

import math

from tests.page.reading import Slip

# The row's four scores: what the right sum is, and what two slips make of it.
RIGHT_SUM = (1 + math.exp(-2)) * math.exp(-2) + math.exp(-3) + 1
# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "flash-attention.predict-busy": {"a block for each query head": 32 / 8},
    "flash-attention.square": {"So many scores": 1 / 2, "all 32 heads": 32},
    "flash-attention.running-sum": {
        "was not rescaled": (1 + math.exp(-2) + math.exp(-3) + 1) / RIGHT_SUM,
        "second tile alone": (1 + math.exp(-3)) / RIGHT_SUM,
    },
    "flash-attention.keys-that-fit": {
        "keys and values": 528 / 256,
        "one step less": 272 / 256,
    },
    "flash-attention.splits": {"four requests": 4, "not all eight": 5 / 33},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "flash-attention.predict-square": {
        "all of it, beside the parameters": "All heads together",
        "not even one head": "One head has 9.6 billion",
    },
    "flash-attention.predict-tile": {
        "they stay as they are": "How often does a key come by",
        "they double": "less often",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "flash-attention.predict-square": (
        "98,000 tokens",
        "16 bits",
        "32 query heads of a layer each",
        "80 GB",
        "fits",
    ),
    "flash-attention.predict-tile": (
        "doubles its tile of queries",
        "leaves its tile of keys",
        "bytes read of keys and values",
    ),
    "flash-attention.predict-busy": (
        "One request decodes with Llama-3.1-8B",
        "each of the 8 key–value heads to one of 132 multiprocessors",
        "with the four queries that share it",
        "share of the multiprocessors has work",
    ),
    "flash-attention.square": ("scores of one head", "32,000 tokens", "16 bits"),
    "flash-attention.running-sum": (
        "first tile has the scores 1 and 3",
        "second 2 and 5",
        "after the second",
    ),
    "flash-attention.keys-that-fit": (
        "Heads of 96",
        "128 queries a tile",
        "two tiles of keys and two of values",
        "232,448 bytes",
        "steps of 16",
    ),
    "flash-attention.splits": (
        "spread over eight H100",
        "one of its 8 key–value heads",
        "Four requests",
        "each of the 132 multiprocessors",
        "at least one",
    ),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "flash-attention.predict-square": "a few heads at a time, not all 32",
    "flash-attention.predict-tile": "they halve",
}
