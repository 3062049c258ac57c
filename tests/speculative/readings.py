"""The chapter's questions, read a second time from the prompts alone."""

from tests.page.reading import Slip

SERIES = 1 + 0.7 + 0.49 + 0.343
# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "speculative.common": {
        "two independent draws agree": (0.1 + 0.12 + 0.05) / 0.6,
        "the draft is rejected": 4 / 6,
    },
    "speculative.by-hand": {
        "three passes of the draft model": 7 / 12.7,
        "only if all before it were kept": SERIES / 3.1,
    },
    "speculative.endless": {"the target adds a token": 3 / 4},
    "speculative.break-even": {
        "The four passes": 15.5 / 26.3,
        "once for each of the four": 18.2 / 26.3,
    },
}
# A wrong option, and words of what is said to whoever takes it.
MISTAKES: dict[str, dict[str, str]] = {
    "speculative.predict-redraw": {
        "just as often": "half of what is left",
        "more often": "only half of the rejections",
    },
    "speculative.predict-rows": {
        "about twice as long": "hardly compute",
        "about five times as long": "a pass of its own",
    },
    "speculative.predict-eight": {
        "more, a longer chain yields more": "takes longer by more",
        "as many": "time faster",
    },
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED: dict[str, tuple[str, ...]] = {
    "speculative.predict-redraw": (
        "p: 0.5, 0.3, 0.2",
        "q: 0.2, 0.6, 0.2",
        "replace a rejected draft by a word drawn from p itself",
        "the first word then come out",
    ),
    "speculative.predict-rows": (
        "decodes one request on one H100",
        "with one row takes 7 ms",
        "with five rows take",
        "the newest word and four drafts",
    ),
    "speculative.predict-eight": (
        "decodes 32 requests",
        "with Llama-3.2-1B drafting for Llama-3.1-8B",
        "from two drafts to eight",
        "more or fewer tokens per second than with two",
    ),
    "speculative.common": (
        "the target gives three words the chances 0.5, 0.4 and 0.1",
        "the draft model gives them 0.2, 0.3 and 0.5",
        "kept",
    ),
    "speculative.by-hand": (
        "A pass of the target takes 7 ms",
        "takes 7 ms, with or without",
        "pass of the draft model takes 1.9 ms",
        "Chains of three drafts",
        "with chance 0.7 if all before it were",
        "time does a token take",
        "with its unit",
    ),
    "speculative.endless": (
        "Drafts cost nothing",
        "with chance 0.75 if all before it were",
        "tokens does a pass yield at most",
    ),
    "speculative.break-even": (
        "verified in 15.5 ms with four drafts",
        "a plain pass takes 11.6 ms",
        "a pass of the draft model 2.7 ms",
        "yield for each request, to be worth it",
    ),
}
# What a question with options asks for.
RIGHT: dict[str, str] = {
    "speculative.predict-redraw": "less often than the target says",
    "speculative.predict-rows": "about as long",
    "speculative.predict-eight": "fewer",
}
