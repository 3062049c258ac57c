"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "tensor-parallel.prefill-bytes": {"two rounds": 1 / 2, "one block": 1 / 80},
    "tensor-parallel.fits": {
        "weights have to fit": 75.251 / 9.3946,
        "over both": 1 / 2,
    },
    "tensor-parallel.turn": {"on eight GPUs": 11.6 / 38.871},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "tensor-parallel.predict-bytes": {
        "to one half": "That is the calls",
        "to less than half": "each sends more",
    },
    "tensor-parallel.predict-degree": {
        "half of that": "all of it were shared out",
        "as long, or longer": "takes microseconds",
    },
    "tensor-parallel.predict-head": {"the right output": "softmax linear"},
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "tensor-parallel.predict-bytes": ("four all-gathers", "two all-reduces", "fall …"),
    "tensor-parallel.predict-degree": ("On four", "take on eight"),
    "tensor-parallel.predict-head": ("one head only", "cut over two GPUs"),
    "tensor-parallel.prefill-bytes": ("How many bytes leave each GPU",),
    "tensor-parallel.fits": ("on both together", "How many tokens of cache fit"),
    "tensor-parallel.turn": ("On four H100s", "two shots faster"),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "tensor-parallel.predict-bytes": "to more than half",
    "tensor-parallel.predict-degree": "less, but clearly more than half",
    "tensor-parallel.predict-head": "a wrong output",
}
