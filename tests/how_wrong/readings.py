"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

LEFT = 0.9 * 2 * 85.03 - 24.496  # GB of two GPUs beside the weights
# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "how-wrong.mape": {"two signs cancel": 1 / 2, "its own measurement": 5 / 80 / 0.1},
    "how-wrong.interval": {
        "not of the prediction": 23 / 22,  # of 8.3 s an answer, not 8 s
        "Divide": 21 / 22,
        "That is the shortest": 14 / 22,
        "These are servers": 1 / 4,
    },
    "how-wrong.blocks": {"keeps a reserve": LEFT / (LEFT - 2 * 1.224)},
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "how-wrong.predict-risk": {
        "about 5\N{NO-BREAK SPACE}%": "factor is put on top",
        "about 20\N{NO-BREAK SPACE}%": "leans to no side",
    },
    "how-wrong.predict-script": {
        "both grow several times": "nearly as many tokens",
        "both hardly change": "all start and end together",
    },
    "how-wrong.predict-seesaw": {
        "shorter first tokens, and shorter answers": "look at all three",
        "later first tokens, and much slower answers": "sum of work",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "how-wrong.predict-risk": ("prediction alone", "that vLLM served", "was slower"),
    "how-wrong.predict-script": ("forgets this", "mean errors"),
    "how-wrong.predict-seesaw": ("SGLang's time per output token", "go with it"),
    "how-wrong.mape": ("what was measured", "mean absolute percentage error"),
    "how-wrong.interval": ("is predicted", "at the end of the band"),
    "how-wrong.blocks": ("of both together", "of each GPU", "How many blocks"),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "how-wrong.predict-risk": "about half",
    "how-wrong.predict-script": "TPOT's hardly changes, TTFT's grows several times",
    "how-wrong.predict-seesaw": "later first tokens, and answers about as quick",
}
