"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "moe.predict-skew": {"above the mean": 0.9 / 0.5882},
    "moe.sending": {"besides": 110.1 / 158.3, "stay in the node": 195.0 / 158.3},
    "moe.ridge": {
        "not to one": 8 * 7198 / 64 / 113,
        "one expert": 7198 / 32 / 64 / 113,
    },
    "moe.least-ep": {"not shared out": 10 / 11, "Nothing is kept": 9 / 11},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "moe.predict-touched": {"about 9": "one token", "about 70": "chosen by none"},
    "moe.predict-group": {
        "about half as long": "how far must copies travel",
        "about twice as long": "No more copies are sent",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "moe.predict-touched": ("each token to 8 of 256", "How many different experts"),
    "moe.predict-group": (
        "128 tokens on each",
        "64 GPUs each reads a quarter",
        "part after part",
    ),
    "moe.predict-skew": (
        "10 % of all",
        "computing takes longer",
        "wait for the slowest",
        "What share",
    ),
    "moe.sending": ("to a combine", "besides", "does the combine take"),
    "moe.ridge": ("Each GPU decodes 64", "How many GPUs must share"),
    "moe.least-ep": ("keep 25 GB", "fewest GPUs that hold", "experts shared out"),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "moe.predict-touched": "about 220",
    "moe.predict-group": "about as long as before",
}
