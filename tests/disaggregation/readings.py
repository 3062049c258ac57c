"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "disaggregation.handoff": {"both directions": 1 / 2},
    "disaggregation.sizing": {"rounded up by itself": 5 / 6, "decode pool": 3 / 6},
    "disaggregation.stretch": {
        "collects more": (1 + 12 * 0.026) * (1 - 12 * 0.026),
        "Not every step": (15 + 26) / 15 * (1 - 12 * 0.026),
    },
    "disaggregation.token-cost": {},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "disaggregation.predict-hide": {"yes, twice as fast": "twice the time to compute"},
    "disaggregation.predict-ride": {
        "as long as alone": "paid for by the step",
        "next to nothing": "rows have to be computed",
    },
    "disaggregation.predict-promise": {
        "two pools under both promises": "reads its weights once for both",
        "one engine on each GPU under both": "can hold a larger batch",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "disaggregation.predict-hide": (
        "twice as long",
        "need a faster link",
        "is to stay hidden?",
    ),
    "disaggregation.predict-ride": ("One more prompt", "How much longer"),
    "disaggregation.predict-promise": ("promise is loosened", "carries more requests"),
    "disaggregation.handoff": ("4,000 tokens", "How long does", "one way"),
    "disaggregation.sizing": ("How many GPUs in all", "whole ones in each pool"),
    "disaggregation.stretch": (
        "in which it rides",
        "rides 26 ms longer. What is",
        "mean gap",
    ),
    "disaggregation.token-cost": ("2 dollars an hour", "a million tokens cost"),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "disaggregation.predict-hide": "no, about the same link will do",
    "disaggregation.predict-ride": "a fifth less than alone",
    "disaggregation.predict-promise": (
        "two pools under the strict one, one engine under the loose one"
    ),
}
