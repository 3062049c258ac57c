"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import LESS, MORE, Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "afd.best-ratio": {"batch of 256": LESS, "smallest of the three": 1 / 7.01},
    "afd.loop": {"loop not counted": MORE},
    # At 606.88 µs the group makes 0.7443: the split's 0.7128 is 4.2% less, not 5.4%.
    "afd.same-time": {
        "group at 2 × 303.4": (1 - 0.7128 / 0.7443) / (1 - 0.7128 / 0.7536)
    },
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "afd.predict-context": {
        "fewer Attention machines": "reads the cache",
        "as many as before": "FFN does not notice",
    },
    "afd.predict-hidden": {"all of it": "both travel", "half of it": "its own way"},
    "afd.predict-slowest": {
        "about 15 % of the throughput": "Who waits for whom",
        "a third of it": "the FFN hides them",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "afd.predict-context": ("get longer", "For one FFN machine you want"),
    "afd.predict-hidden": ("How much of it is hidden",),
    "afd.predict-slowest": (
        "waits for the slowest",
        "In the example with two batches",
        "32 of them instead of 8 for one FFN machine",
        "cost",
    ),
    "afd.best-ratio": (
        "prompts of 100",
        "of 500",
        "a batch of 512",
        "do Attention and FFN balance",
    ),
    "afd.loop": (
        "batch of 256 again, with prompts of 300",
        "row and 20 µs more.",
        "With two batches in flight, loop counted",
        "which ratio is best",
    ),
    "afd.same-time": (
        "one port as wide as any other",
        "for each of 2,048 rows and 20 µs more",
        "two batches are in flight",
        "group of nine",
        "more for each request of a machine",
        "At the same time for a layer",
        "does the split make less",
    ),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "afd.predict-context": "more of them",
    "afd.predict-hidden": "none of it",
    "afd.predict-slowest": "nearly nothing",
}
