"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "deepseek.touched": {"as often as it is chosen": 64 * 8 / 32 / 6.951},
    "deepseek.expand": {},
    "deepseek.fits": {"weights need room": 71.0 // (70.3e-6 * 16000) / 35},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "deepseek.predict-longest": {
        "the experts": "weights are spread over all GPUs",
        "attention": "Its cache is large",
    },
    "deepseek.predict-overlap": {
        "it gets faster": "each half have to read",
        "nothing changes": "something changes",
    },
    "deepseek.predict-vanilla": {"the absorbed form": "few rows look at a long cache"},
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "deepseek.predict-longest": ("with 256 requests", "takes longest"),
    "deepseek.predict-overlap": ("only 32 requests", "The step …"),
    "deepseek.predict-vanilla": ("thousands of tokens", "fewer FLOPs?"),
    "deepseek.touched": ("8 experts on one GPU, how many are touched",),
    "deepseek.expand": ("in one decode step", "in all layers"),
    "deepseek.fits": ("How many requests", "fit", "Whole requests only"),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "deepseek.predict-longest": "dispatch and combine",
    "deepseek.predict-overlap": "it gets slower",
    "deepseek.predict-vanilla": "the plain form",
}
