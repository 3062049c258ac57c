"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "varlen.predict-masked": {"So many blocks fit": 64},
    "varlen.waste": {"padding over tokens": 240 / 150},
    "varlen.padding-time": {"time of all rows": 24_000 / 16_000},
    "varlen.tiles": {"upper right tiles": 6 / 9, "last four tokens": 2},
    "varlen.overtake": {"masked half": 1 / 2},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "varlen.predict-dominates": {"attention": "from a small start"},
    "varlen.predict-padding": {
        "about 20 %": "the longest of eight decides",
        "about 40 %": "more than twice the mean one",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "varlen.predict-masked": (
        "Sixty-four prompts of 128",
        "the whole square",
        "a block for each request",
        "How many times as many",
        "the first",
    ),
    "varlen.predict-dominates": (
        "one prompt of 20,000 tokens",
        "Where are most of the FLOPs",
    ),
    "varlen.predict-padding": (
        "pads its prompts to the longest",
        "eight prompts at a time",
        "with a mean of",
        "rows is padding",
    ),
    "varlen.waste": ("padded to the longest", "rows is padding"),
    "varlen.padding-time": (
        "Sixteen prompts, 500 tokens on average, the longest 1,500",
        "are padded to the longest",
        "on the padding alone",
    ),
    "varlen.tiles": ("64 requests of 260", "anew with each", "skips", "is useful"),
    "varlen.overtake": (
        "multiplies each row of a prompt with",
        "of a prompt with 68.45 billion",
        "with a kernel",
        "only what the causal mask allows",
        "more of the work",
    ),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "varlen.predict-dominates": "the linear layers",
    "varlen.predict-padding": "about 60 %",
}
