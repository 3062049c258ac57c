"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "parallelism.predict-runs": {
        "mean of all eight": 8,
        "Equal numbers": 8 / 15,
    },
    "parallelism.bubble": {"idle time over working": 15 / 12},
    "parallelism.follow-up": {
        "have keys and values, too": 20 / 24,
        "nothing is cached": 4 / 24,
    },
    "parallelism.even": {"kept twice": 1 / 2},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "parallelism.predict-alone": {
        "about four times as fast": "never two at the same time",
        "about twice as fast": "No two stages",
    },
    "parallelism.predict-layout": {
        "TP 4 × DP 2": "stay inside a server",
        "PP 8": "no all-reduce is left",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "parallelism.predict-alone": (
        "a quarter on each",
        "A single request decodes",
        "compared with one GPU that had memory enough",
    ),
    "parallelism.predict-layout": (
        "prompt after prompt",
        "with Llama-3.1-70B",
        "read far the fewest tokens per second",
    ),
    "parallelism.predict-runs": (
        "dealt in stretches",
        "its last",
        "all tokens before it",
        "How many times the mean",
    ),
    "parallelism.bubble": ("twelve chunks", "four stages", "stand idle"),
    "parallelism.follow-up": (
        "20,000 tokens, which is cached",
        "4,000 tokens more",
        "share of the bytes of pass-Q does pass-KV send",
    ),
    "parallelism.even": (
        "Eight H200",
        "With four KV heads",
        "must keep",
        "With how many",
        "the same memory",
    ),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "parallelism.predict-alone": "not faster at all",
    "parallelism.predict-layout": "TP 8",
}
