"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "kv-memory.fits": {
        "each holds sixteen tokens": 28_224 / 32_768 / 16,
        "a copy of the shared beginning": 13 / 16,
    },
    "kv-memory.window": {
        "all layers": 62 * 32_768 / (10 * 32_768 + 52 * 1_024),
        "keep something, too": 10 * 32_768 / (10 * 32_768 + 52 * 1_024),
    },
    "kv-memory.even": {"travel twice": 1 / 2},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "kv-memory.predict-waste": {
        "about 30 %": "can at most double a length",
        "about 90 %": "Rounding up alone",
    },
    "kv-memory.predict-routing": {
        "it stays about the same": "keeps evicting prompts",
        "it grows tenfold": "found already",
    },
    "kv-memory.predict-window": {
        "about 1.2 times": "a thirty-second",
        "about 30 times": "Ten layers keep every token",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "kv-memory.predict-waste": (
        "rounded up to a power of two",
        "from the start",
        "At a random moment while answers are written",
        "reserved memory holds a token",
    ),
    "kv-memory.predict-routing": (
        "the same long system prompt with every question",
        "to the replica with the fewest requests",
        "prompt tokens found",
        "that knows the prompt instead",
    ),
    "kv-memory.predict-window": (
        "of which 52 keep",
        "32,768 tokens",
        "overstated if every layer",
    ),
    "kv-memory.fits": (
        "451,584 tokens",
        "begin with the same 6,000 tokens",
        "stores once",
        "requests with 32,768 tokens",
        "at once",
    ),
    "kv-memory.window": (
        "62 layers with 16 key–value heads",
        "52 of the layers",
        "How many GiB",
    ),
    "kv-memory.even": ("copying", "out and in", "as long as computing it again"),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "kv-memory.predict-waste": "about 60 %",
    "kv-memory.predict-routing": "it grows by two thirds",
    "kv-memory.predict-window": "about 5 times",
}
