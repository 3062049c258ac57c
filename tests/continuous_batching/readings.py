"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import MORE, Slip

# Of a prompt in one piece, in its rows: the linear layers, and a whole square of pairs.
LINEAR, SQUARE = 15.01e9 * 32_768, 524.3e3 * 32_768**2
FREEZE = LINEAR + SQUARE / 2
# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "continuous-batching.idle": {
        "share that is used": 0.4375 / 0.5625,
        "shortest": 14 / 9,
    },
    "continuous-batching.freeze": {
        "attention comes on top": LINEAR / FREEZE,
        "half of the": (LINEAR + SQUARE) / FREEZE,
    },
    "continuous-batching.chunk-fits": {"start of the prompt": MORE},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "continuous-batching.predict-late": {
        "a few seconds, as before": "takes seconds any more",
        "a few hundred milliseconds": "own prefill",
    },
    "continuous-batching.predict-freeze": {
        "about 50 ms": "several times that",
        "about a second": "with its square",
    },
    "continuous-batching.predict-price": {
        "next to nothing": "each launch costs time",
        "about twice the time": "beside the arithmetic",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "continuous-batching.predict-late": (
        "before every iteration",
        "slot 1 is free",
        "How long does C wait",
    ),
    "continuous-batching.predict-freeze": (
        "Five requests decode",
        "a sixth of that",
        "joins their next iteration in one piece",
        "How long until",
    ),
    "continuous-batching.predict-price": (
        "budget of 512 rows",
        "How much later than in one piece",
    ),
    "continuous-batching.idle": ("static batch of four", "wasted"),
    "continuous-batching.freeze": ("32,768 tokens", "in one piece", "freezes"),
    "continuous-batching.chunk-fits": (
        "5 requests decode, with 1,000 tokens",
        "How many rows may the next",
        "at most",
    ),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "continuous-batching.predict-late": "a few tens of milliseconds",
    "continuous-batching.predict-freeze": "about half a second",
    "continuous-batching.predict-price": "about a quarter more",
}
