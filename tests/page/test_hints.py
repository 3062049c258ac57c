"""Hints follow from the mistake that they name, prompts ask what is answered.

A second reading, made from the prompts alone: what each wrong computation makes of the
right answer, which mistake leads to which wrong option, and which words of a prompt
decide what is right.
"""

import pytest

from llmserve_lab.formula.text import without_links
from llmserve_lab.page.question.content import text_of
from llmserve_lab.page.question.judge import hints
from llmserve_lab.page.question.question import Question, questions

LATER = ("continuous-batching", "end-to-end")  # their questions are being rewritten
MINE = {n: q for n, q in questions().items() if not n.startswith(LATER)}
NUMERIC = [name for name, question in MINE.items() if not question.choices]
CHOICES = [name for name, question in MINE.items() if question.choices]
MORE, LESS = "more", "less"
Slip = float | str

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "afd.best-ratio": {"batch of 256": LESS, "smallest of the three": 1 / 7.01},
    "afd.slot": {"weighs both kinds alike": ((5 + 0.5) + (16 + 2.5 + 1)) / 2 / 15.25},
    "afd.loop": {"loop not counted": MORE},
    "deepseek.touched": {"as often as it is chosen": 64 * 8 / 32 / 6.951},
    "deepseek.expand": {},
    "deepseek.fits": {"weights need room": 72 // (70.3e-6 * 16384) / 38},
    "disaggregation.handoff": {"both directions": 1 / 2},
    "disaggregation.sizing": {"rounded up by itself": 5 / 6, "decode pool": 3 / 6},
    "disaggregation.stretch": {
        "collects more": (1 + 12 * 0.026) * (1 - 12 * 0.026),
        "Not every step": (15 + 26) / 15 * (1 - 12 * 0.026),
    },
    "disaggregation.token-cost": {},
    "moe.predict-skew": {"above the mean": 0.9 / 0.5882},
    "how-wrong.mape": {"two signs cancel": 1 / 2, "its own measurement": 5 / 80 / 0.1},
    "how-wrong.interval": {
        "not of the prediction": 1.3 * 0.8,
        "Divide": 1.2 * 0.8,
        "That is the shortest": 0.8 / 1.3,
    },
    "how-wrong.blocks": {"keeps a reserve": MORE},
    "how-wrong.cache-end": {"Only a share": 1 / 0.9, "holds its answer": 9},
    "moe.kimi": {"three matrices": 2 / 3, "one token's": 9 / 385},
    "moe.ridge": {"each expert must": 8 / 256},
    "moe.ratio": {"chosen twice": 16 / 11.392, "single token": 1 / 11.392},
    "moe.copies": {"share a GPU": 8 / 7.6758},
    "roofline.predict-ridge": {},
    "roofline.kv-per-token": {"query heads": 64 / 8, "one layer": 1 / 80},
    "roofline.crossover": {"sum over all requests": 64},
    "roofline.fits": {"weights need room": 141e9 / (131_072 * 8192) / 116},
    "roofline.ceiling": {},
    "tensor-parallel.prefill-bytes": {"two rounds": 1 / 2, "one block": 1 / 80},
    "tensor-parallel.score-rows": {"one of the two": 1 / 2},
    "tensor-parallel.kv-share": {"cannot be halved": 8 / 16},
    "varlen.predict-masked": {"two requests need": (100 + 900) / 1600},
    "varlen.predict-split": {"there are ten": 10},
    "varlen.waste": {"padding over tokens": 240 / 150},
    "varlen.row": {"mean over requests": (3 * 100 + 3700) / 4 / 3430},
    "varlen.overtake": {"masked half": 1 / 2},
    "varlen.ridge-rows": {},
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
    "deepseek.predict-longest": {
        "the experts": "weights are spread over all GPUs",
        "attention": "Its cache is large",
    },
    "deepseek.predict-overlap": {
        "it gets faster": "each half have to read",
        "nothing changes": "something changes",
    },
    "deepseek.predict-vanilla": {"absorbed": "few rows look at a long cache"},
    "disaggregation.predict-hide": {"yes, twice as fast": "twice the time to compute"},
    "disaggregation.predict-ride": {
        "as long as alone": "paid for by the step",
        "next to nothing": "rows have to be computed",
    },
    "disaggregation.predict-promise": {
        "two pools under both promises": "reads its weights once for both",
        "one engine on each GPU under both": "can hold a larger batch",
    },
    "how-wrong.predict-left": {
        "about 25 %": "reaches of its bandwidth",
        "more than 50 %": "nothing fitted",
    },
    "how-wrong.predict-term": {
        "shares of compute and memory": "most of its memory bandwidth",
        "share of the link": "Only several GPUs",
        "time per request": "some microseconds each",
    },
    "how-wrong.predict-seesaw": {
        "shorter first tokens, and shorter answers": "have to be read",
        "later first tokens, and much slower answers": "only its order",
    },
    "moe.predict-touched": {"about 9": "one token", "about 70": "chosen by none"},
    "moe.predict-bytes": {
        "the all-reduce": "fewer experts a token than GPUs",
        "sending tokens": "more experts a token than GPUs",
    },
    "roofline.predict-batch": {
        "they double": "holds for the weights",
        "they halve": "FLOPs double too",
    },
    "roofline.predict-prefill": {"memory-bound": "With one new token"},
    "tensor-parallel.predict-bytes": {
        "to one half": "That is the calls",
        "to less than half": "each sends more",
    },
    "tensor-parallel.predict-degree": {
        "1": "fewer ranks each reads more",
        "2": "fewer ranks each reads more",
        "8": "more ranks the weights are read sooner",
        "16": "more ranks the weights are read sooner",
    },
    "tensor-parallel.predict-head": {"the right output": "softmax linear"},
    "varlen.predict-dominates": {"attention": "from a small start"},
}
# Words of a prompt that turn the answer round if they are turned round.
ASKED = {
    "afd.predict-context": ("get longer", "For one FFN machine you want"),
    "afd.predict-hidden": ("How much of it stays hidden",),
    "afd.predict-slowest": (
        "waits for the slowest",
        "the FFN is the bottleneck",
        "cost",
    ),
    "afd.best-ratio": ("batch of 512", "prompts of 100", "of 500", "is best"),
    "afd.slot": ("prompts of 5 tokens that take 2", "of 16 that take 6", "on average"),
    "afd.loop": ("with two batches in flight, loop counted", "which ratio is best"),
    "deepseek.predict-longest": ("with 256 requests", "takes longest"),
    "deepseek.predict-overlap": ("only 32 requests", "The step …"),
    "deepseek.predict-vanilla": ("thousands of rows", "Fewer FLOPs has …"),
    "deepseek.touched": ("8 experts on one GPU, how many are touched",),
    "deepseek.expand": ("in one decode step", "in all layers"),
    "deepseek.fits": ("How many requests", "fit", "Whole requests only"),
    "disaggregation.predict-hide": ("twice as long", "need a faster link"),
    "disaggregation.predict-ride": ("One more prompt", "How much longer"),
    "disaggregation.predict-promise": ("promise is loosened", "serves more requests"),
    "disaggregation.handoff": ("4,000 tokens", "How long does", "one way"),
    "disaggregation.sizing": ("How many GPUs in all", "whole ones in each pool"),
    "disaggregation.stretch": ("in which it rides", "mean gap"),
    "disaggregation.token-cost": ("2 dollars an hour", "a million tokens cost"),
    "how-wrong.predict-left": ("all of them on H100", "How far off", "on average"),
    "how-wrong.predict-term": ("takes away most", "per output token"),
    "how-wrong.predict-seesaw": ("reads new prompts first", "What else?"),
    "how-wrong.mape": ("what was measured", "mean absolute percentage error"),
    "how-wrong.interval": ("is predicted", "the longest time"),
    "how-wrong.blocks": ("of both together", "of each GPU", "How many blocks"),
    "how-wrong.cache-end": ("of what weights and reserve leave", "at full length"),
    "moe.predict-touched": ("each token to 8 of 256", "How many different experts"),
    "moe.predict-bytes": ("with one all-reduce", "sends more bytes"),
    "moe.predict-skew": ("wait for the slowest", "share", "put to use"),
    "moe.kimi": ("store", "its router included"),
    "moe.ridge": ("How many rows", "reach the ridge"),
    "moe.ratio": ("How many times the bytes of its active",),
    "moe.copies": ("once to every GPU that holds one", "does it arrive"),
    "roofline.predict-ridge": (
        "How many FLOPs",
        "with every byte",
        "neither side waits",
    ),
    "roofline.predict-batch": (
        "with a long context",
        "more cache than weights",
        "double",
        "FLOPs per",
    ),
    "roofline.predict-prefill": ("Count all FLOPs, those of attention too",),
    "roofline.kv-per-token": ("How many bytes does one token", "16-bit cache"),
    "roofline.crossover": ("From which context on", "read more cache than weights"),
    "roofline.fits": ("fit beside", "Whole requests only"),
    "roofline.ceiling": ("left out", "can no batch, however large"),
    "tensor-parallel.predict-bytes": ("four gathers", "two all-reduces", "fall …"),
    "tensor-parallel.predict-degree": ("with a ring", "make a token fastest"),
    "tensor-parallel.predict-head": ("one head only", "cut over two GPUs"),
    "tensor-parallel.prefill-bytes": ("How many bytes leave each GPU",),
    "tensor-parallel.score-rows": (
        "with the article's width",
        "larger than the two others together",
    ),
    "tensor-parallel.kv-share": ("What part of the cache does each rank hold",),
    "varlen.predict-masked": ("the whole square", "before it masks", "How many"),
    "varlen.predict-dominates": ("with eight layers", "Where are most of the FLOPs"),
    "varlen.predict-split": ("By what factor", "compute fewer pairs"),
    "varlen.waste": ("padded to the longest", "rows is padding"),
    "varlen.row": ("a row, picked at random", "on average"),
    "varlen.overtake": (
        "with a kernel",
        "only what the causal mask allows",
        "more of the work",
    ),
    "varlen.ridge-rows": ("How many packed rows", "compute-bound, attention counted"),
}
RIGHT = {
    "afd.predict-context": "more of them",
    "afd.predict-hidden": "none of it",
    "afd.predict-slowest": "nearly nothing",
    "deepseek.predict-longest": "dispatch and combine",
    "deepseek.predict-overlap": "it gets slower",
    "deepseek.predict-vanilla": "vanilla",
    "disaggregation.predict-hide": "no, about the same link will do",
    "disaggregation.predict-ride": "a fifth less than alone",
    "disaggregation.predict-promise": (
        "two pools under the strict one, one engine under the loose one"
    ),
    "how-wrong.predict-left": "less than 10 %",
    "how-wrong.predict-term": "time per layer",
    "how-wrong.predict-seesaw": "later first tokens, and answers about as quick",
    "moe.predict-touched": "about 220",
    "moe.predict-bytes": "neither",
    "roofline.predict-batch": "they stay nearly the same",
    "roofline.predict-prefill": "compute-bound",
    "tensor-parallel.predict-bytes": "to more than half",
    "tensor-parallel.predict-degree": "4",
    "tensor-parallel.predict-head": "a wrong output",
    "varlen.predict-dominates": "the linear layers",
}


def told(question: Question) -> dict[str, float]:
    """Words of each hint, and the answer to which they are told."""
    return {plain_text(text_of(h.text)): float(h.value()) for h in question.hints}


def plain_text(text: str) -> str:
    """A text without links and emphasis."""
    return without_links(text).replace("*", "")


def test_every_question_was_read_twice() -> None:
    assert set(SLIPS) == set(NUMERIC)
    assert set(RIGHT) == set(MISTAKES) == set(CHOICES)
    assert set(ASKED) == set(MINE)


@pytest.mark.parametrize("name", NUMERIC)
def test_a_hint_is_told_to_the_number_of_its_mistake(name: str) -> None:
    question, slips = MINE[name], SLIPS[name]
    found = {}
    for text, value in told(question).items():
        (words,) = (words for words in slips if words in text)
        found[words] = value / question.right
    assert set(found) == set(slips)
    for words, factor in slips.items():
        if isinstance(factor, str):
            assert (found[words] > 1) == (factor == MORE), words
        else:
            assert found[words] == pytest.approx(factor, rel=0.01), words


@pytest.mark.parametrize("name", CHOICES)
def test_a_wrong_option_is_told_its_own_mistake(name: str) -> None:
    question = MINE[name]
    said = dict(hints(question))
    assert question.choices[int(question.right)] == RIGHT[name]
    assert {question.choices[int(at)] for at in said} == set(MISTAKES[name])
    for at, text in said.items():
        assert MISTAKES[name][question.choices[int(at)]] in plain_text(str(text))


@pytest.mark.parametrize("name", MINE)
def test_a_prompt_asks_for_what_is_answered(name: str) -> None:
    prompt = plain_text(text_of(MINE[name].prompt))
    places = [prompt.find(words) for words in ASKED[name]]
    assert -1 not in places, ASKED[name][places.index(-1)]
    assert places == sorted(places)
