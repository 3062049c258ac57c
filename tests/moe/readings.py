"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "moe.predict-skew": {"above the mean": 0.9 / 0.5882},
    "moe.sending": {"besides": 110.1 / 158.3, "stay in the node": 195.0 / 158.3},
    "moe.least-ep": {"not shared out": 9 / 10, "Nothing is kept": 8 / 10},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "moe.predict-touched": {"about 9": "one token", "about 70": "chosen by none"},
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "moe.predict-touched": ("each token to 8 of 256", "How many different experts"),
    "moe.predict-skew": ("wait for the slowest", "What share", "put to use"),
    "moe.sending": ("to a combine", "besides", "does the combine take"),
    "moe.least-ep": ("keep 30 GB", "fewest GPUs that hold", "experts shared out"),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "moe.predict-touched": "about 220",
}
