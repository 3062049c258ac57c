"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "kv-memory.fits": {
        "each holds sixteen tokens": 28_224 / 32_768 / 16,
        "a copy of the shared beginning": 13 / 16,
    },
    "kv-memory.window": {
        "all layers": 48 * 131_072 / (12 * 131_072 + 36 * 8_192),
        "keep something, too": 12 * 131_072 / (12 * 131_072 + 36 * 8_192),
    },
    "kv-memory.even": {"travel twice": 1 / 2},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "kv-memory.predict-waste": {
        "about 30 %": "can at most double a length",
        "about 90 %": "Rounding up alone",
    },
    "kv-memory.predict-rate": {
        "about as many": "once, for however many",
        "12 times as many": "more cache to read",
    },
    "kv-memory.predict-routing": {
        "it stays about the same": "keeps evicting prompts",
        "it grows tenfold": "found already",
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
    "kv-memory.predict-rate": (
        "27 of these requests with the reservation and 328 with paging",
        "times as many tokens a second",
        "all of them together",
    ),
    "kv-memory.predict-routing": (
        "the same long system prompt with every question",
        "to the replica with the fewest requests",
        "prompt tokens found",
        "that knows the prompt instead",
    ),
    "kv-memory.fits": (
        "451,584 tokens",
        "begin with the same 6,000 tokens",
        "stores once",
        "requests with 32,768 tokens",
        "at once",
    ),
    "kv-memory.window": (
        "48 layers with 8 key–value heads",
        "36 of the layers",
        "36 of the layers keep a chunk of at most 8,192",
        "a full chunk",
        "How many GiB",
        "131,072 tokens",
    ),
    "kv-memory.even": ("copying", "out and in", "as long as computing it again"),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "kv-memory.predict-waste": "about 60 %",
    "kv-memory.predict-rate": "3 times as many",
    "kv-memory.predict-routing": "it grows by about 70 %",
}
