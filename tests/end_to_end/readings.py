"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# FLOPs of a token of the exercise, by its prompt alone.
TOKEN_MATRICES = 80 * (2 * 72 * 8192 * 128 + 3 * 8192 * 28_672) + 128_256 * 8192
TOKEN_PAIRS = 4 * 80 * 64 * 128 * 8001
TOKEN = 2 * TOKEN_MATRICES + TOKEN_PAIRS
# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "end-to-end.predict-rows": {"longer the text becomes": 1.2 / (219_900 / 1199)},
    "end-to-end.per-token": {
        "a key and a value": 1 / 2,
        "one block": 1 / 80,
        "Query heads share": 64 / 8,
    },
    "end-to-end.token": {
        "And the pairs": 1 - TOKEN_PAIRS / TOKEN,
        "its product is added": TOKEN_MATRICES / TOKEN,
        "three matrices": 1 - 2 * 80 * 8192 * 28_672 / TOKEN,
    },
    "end-to-end.dog": {"before the exponential": 1.04720, "later row": 0.74082},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "end-to-end.predict-the": {
        "to the first": "Only its query and two keys",
        "to the second, its own article": "what do the two keys differ in",
    },
    "end-to-end.predict-past": {
        "they change a lot: the meaning of a sentence depends on its end": (
            "Which rows may an earlier row look at"
        ),
        "all change a little, because the weights must add up to 1": (
            "take part in the softmax of an old one"
        ),
    },
    "end-to-end.predict-growth": {
        "two": "if a token cost the same wherever it is",
        "four": "how the rows grow",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "end-to-end.predict-the": (
        "word “the” twice",
        "the first block, with these matrices and nothing else",
        "the last row, “ball”, give more weight",
    ),
    "end-to-end.predict-past": ("“ball” is appended", "to the first four rows"),
    "end-to-end.predict-rows": (
        "prompt has 1,000 tokens and the answer gets 200",
        "How many times more rows",
        "each of them went through only once",
    ),
    "end-to-end.predict-growth": (
        "prompt is short",
        "answer twice as long",
        "Nothing is cached",
        "pairs that attention meets grow by",
    ),
    "end-to-end.per-token": ("80 blocks, 8 key–value heads", "does one token leave"),
    "end-to-end.token": (
        "64 query heads and 8 key–value heads",
        "SwiGLU that is 28,672 wide inside",
        "does one token cost after 8,000 others",
        "LM head included",
    ),
    "end-to-end.dog": (
        "Give dog the",
        "query of “dog” is (0, 3, 2, 0)",
        "give to “Give”",
    ),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "end-to-end.predict-the": "to both the same",
    "end-to-end.predict-past": "mathematically they stay exactly the same",
    "end-to-end.predict-growth": "eight",
}
