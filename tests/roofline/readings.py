"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "roofline.predict-ridge": {},
    "roofline.kv-per-token": {"query heads": 64 / 8, "one layer": 1 / 80},
    "roofline.fits": {"weights need room": 139 / 124},
    "roofline.speed": {"one byte, not two": 1 / 2},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "roofline.predict-batch": {
        "about 32 times as long": "once for each request, or once",
        "about three times as long": "all the caches, beside the weights",
    },
    "roofline.predict-long": {
        "it doubles": "holds for the weights",
        "it halves": "FLOPs double too",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "roofline.predict-ridge": (
        "How many FLOPs",
        "with every byte",
        "neither side waits",
    ),
    "roofline.predict-batch": (
        "on an H100, with 1,100 tokens",
        "needs at least",
        "such requests decode together",
        "How long does the iteration take at least",
    ),
    "roofline.predict-long": (
        "an H100, each with a long",
        "a long context",
        "more cache than weights",
        "double the batch",
        "FLOPs per byte",
    ),
    "roofline.kv-per-token": ("How many kilobytes does one token", "16-bit cache"),
    "roofline.speed": (
        "in FP8",
        "token. One request with 1,000 tokens",
        "on one H200",
        "tokens a second",
        "at most",
    ),
    "roofline.fits": ("fit beside", "on one H200", "Whole requests only"),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "roofline.predict-batch": "about 30% longer",
    "roofline.predict-long": "it grows by about a fifth",
}
