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

MINE = questions()
NUMERIC = [name for name, question in MINE.items() if not question.choices]
CHOICES = [name for name, question in MINE.items() if question.choices]
MORE, LESS = "more", "less"
Slip = float | str

# A wrong computation by its words: how many times the right answer it gives.
SLIPS: dict[str, dict[str, Slip]] = {
    "afd.best-ratio": {"batch of 256": LESS, "smallest of the three": 1 / 7.01},
    "afd.slot": {"weighs both kinds alike": ((5 + 0.5) + (16 + 2.5 + 1)) / 2 / 15.25},
    "afd.loop": {"loop not counted": MORE},
    "continuous-batching.idle": {
        "share that is used": 0.4375 / 0.5625,
        "shortest": 14 / 9,
    },
    "continuous-batching.freeze": {"attention comes on top": LESS, "half of the": MORE},
    "continuous-batching.chunk-fits": {"start of the prompt": MORE},
    "deepseek.touched": {"as often as it is chosen": 64 * 8 / 32 / 6.951},
    "deepseek.expand": {},
    "deepseek.fits": {"weights need room": 76.5 // (70.3e-6 * 16000) / 43},
    "deepseek.sent": {"one copy of each row": 1 / 8, "busiest GPU's": 1 / 0.7792},
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
    "end-to-end.predict-rows": {"longer the text becomes": 1.2 / (219_900 / 1199)},
    "end-to-end.per-token": {
        "a key and a value": 1 / 2,
        "one block": 1 / 80,
        "Query heads share": 64 / 8,
    },
    "end-to-end.block": {
        "three matrices": 1 - 28_672 * 8192 / 855_654_400,
        "fewer heads": 1 + 2 * (64 - 8) * 128 * 8192 / 855_654_400,
    },
    "end-to-end.dog": {"before the exponential": 1.24595, "later rows": 0.77243},
    "end-to-end.pairs": {"grow with the cube": 500.5 / 334},
    "moe.kimi": {"three matrices": 2 / 3, "one token's": 9 / 385},
    "moe.ridge": {
        "not to one": 8 * 7198 / 64 / 113,
        "one expert": 7198 / 32 / 64 / 113,
    },
    "moe.least-ep": {"not shared out": 10 / 11, "Nothing is kept": 8 / 11},
    "moe.copies": {"share a GPU": 8 / 7.6758},
    "roofline.predict-ridge": {},
    "roofline.kv-per-token": {"query heads": 64 / 8, "one layer": 1 / 80},
    "roofline.fits": {"weights need room": 139 / 124},
    "roofline.speed": {"one byte, not two": 1 / 2},
    "tensor-parallel.prefill-bytes": {"two rounds": 1 / 2, "one block": 1 / 80},
    "tensor-parallel.fits": {
        "weights have to fit": 74.927 / 8.7475,
        "over both": 1 / 2,
    },
    "tensor-parallel.turn": {"on eight GPUs": 11.6 / 38.871},
    "varlen.predict-masked": {"So many blocks fit": 64},
    "varlen.waste": {"padding over tokens": 240 / 150},
    "varlen.padding-time": {"time of all rows": 24_000 / 16_000},
    "varlen.tiles": {"upper right tile": 3 / 4, "last two tokens": 3},
    "varlen.overtake": {"masked half": 1 / 2},
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
    "continuous-batching.predict-late": {
        "a few seconds, as before": "takes seconds any more",
        "a few hundred milliseconds": "own prefill",
    },
    "continuous-batching.predict-freeze": {
        "about 50 ms": "several times that",
        "about a second": "with its square",
    },
    "continuous-batching.predict-price": {
        "next to nothing": "each launch costs time",
        "more than twice the time": "beside the arithmetic",
    },
    "deepseek.predict-longest": {
        "the experts": "weights are spread over all GPUs",
        "attention": "Its cache is large",
    },
    "deepseek.predict-overlap": {
        "it gets faster": "each half have to read",
        "nothing changes": "something changes",
    },
    "deepseek.predict-vanilla": {"the absorbed form": "few rows look at a long cache"},
    "disaggregation.predict-hide": {"yes, twice as fast": "twice the time to compute"},
    "disaggregation.predict-ride": {
        "as long as alone": "paid for by the step",
        "next to nothing": "rows have to be computed",
    },
    "disaggregation.predict-promise": {
        "two pools under both promises": "reads its weights once for both",
        "one engine on each GPU under both": "can hold a larger batch",
    },
    "end-to-end.predict-the": {
        "to the first": "Only its query and two keys",
        "to the second, its own article": "what do the two keys differ in",
    },
    "end-to-end.predict-past": {
        "they change a lot: the meaning of a sentence depends on its end": (
            "Which rows may an earlier row look at"
        ),
        "all change a little, because the weights must add up to 1": (
            "take part in the softmax of an old one"
        ),
    },
    "end-to-end.predict-growth": {
        "two": "if a token cost the same wherever it is",
        "four": "how the rows grow",
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
    "moe.predict-group": {
        "about half as long": "how far must copies travel",
        "about twice as long": "No more copies are sent",
    },
    "roofline.predict-batch": {
        "about 32 times as long": "once for each request, or once",
        "about three times as long": "all the caches, beside the weights",
    },
    "roofline.predict-long": {
        "it doubles": "holds for the weights",
        "it halves": "FLOPs double too",
    },
    "roofline.predict-served": {
        "about 4.5 ms": "the datasheet, and nothing else",
        "about 20 ms": "Multiply the layers",
    },
    "tensor-parallel.predict-bytes": {
        "to one half": "That is the calls",
        "to less than half": "each sends more",
    },
    "tensor-parallel.predict-degree": {
        "half of that": "all of it were shared out",
        "as long, or longer": "takes microseconds",
    },
    "tensor-parallel.predict-head": {"the right output": "softmax linear"},
    "varlen.predict-dominates": {"attention": "from a small start"},
    "varlen.predict-padding": {
        "about 20 %": "the longest of eight decides",
        "about 40 %": "more than twice the mean one",
    },
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
    "afd.loop": ("With two batches in flight, loop counted", "which ratio is best"),
    "continuous-batching.predict-late": (
        "before every iteration",
        "slot 1 is free",
        "How long does C wait",
    ),
    "continuous-batching.predict-freeze": (
        "Five requests decode",
        "a sixth of that",
        "joins their next iteration in one piece",
        "How long until",
    ),
    "continuous-batching.predict-price": (
        "chunks of 512 rows",
        "How much longer does the prefill take than in one piece",
    ),
    "continuous-batching.idle": ("static batch of four", "wasted"),
    "continuous-batching.freeze": ("32,768 tokens", "in one piece", "freezes"),
    "continuous-batching.chunk-fits": ("How many rows may the next", "at most"),
    "deepseek.predict-longest": ("with 256 requests", "takes longest"),
    "deepseek.predict-overlap": ("only 32 requests", "The step …"),
    "deepseek.predict-vanilla": ("thousands of tokens", "fewer FLOPs?"),
    "deepseek.touched": ("8 experts on one GPU, how many are touched",),
    "deepseek.expand": ("in one decode step", "in all layers"),
    "deepseek.fits": ("How many requests", "fit", "Whole requests only"),
    "deepseek.sent": ("How many gigabytes", "through a GPU's ports in a step"),
    "disaggregation.predict-hide": ("twice as long", "need a faster link"),
    "disaggregation.predict-ride": ("One more prompt", "How much longer"),
    "disaggregation.predict-promise": ("promise is loosened", "serves more requests"),
    "disaggregation.handoff": ("4,000 tokens", "How long does", "one way"),
    "disaggregation.sizing": ("How many GPUs in all", "whole ones in each pool"),
    "disaggregation.stretch": ("in which it rides", "mean gap"),
    "disaggregation.token-cost": ("2 dollars an hour", "a million tokens cost"),
    "end-to-end.predict-the": (
        "word “the” twice",
        "positions come later on this page",
        "To which of them does the last row",
        "give more weight",
    ),
    "end-to-end.predict-past": ("“ball” is appended", "to the first four rows"),
    "end-to-end.predict-rows": (
        "prompt has 1,000 tokens and the answer gets 200",
        "How many times more rows",
        "each of them went through only once",
    ),
    "end-to-end.predict-growth": (
        "prompt is short",
        "answer twice as long",
        "Nothing is cached",
        "pairs that attention meets grow by",
    ),
    "end-to-end.per-token": ("80 blocks, 8 key–value heads", "does one token leave"),
    "end-to-end.block": (
        "64 query heads, 8 key–value heads",
        "SwiGLU with d_ff",
        "does one block have",
    ),
    "end-to-end.dog": ("has the query (2, 3, 0, 0)", "does it give to “Give”"),
    "end-to-end.pairs": (
        "prompt of a single token, an answer of a thousand",
        "times more",
        "without a cache meet than the loop with one",
    ),
    "how-wrong.predict-left": ("all of them on H100", "How far off", "on average"),
    "how-wrong.predict-term": ("takes away most", "per output token"),
    "how-wrong.predict-seesaw": ("reads new prompts first", "What else?"),
    "how-wrong.mape": ("what was measured", "mean absolute percentage error"),
    "how-wrong.interval": ("is predicted", "the longest time"),
    "how-wrong.blocks": ("of both together", "of each GPU", "How many blocks"),
    "how-wrong.cache-end": ("of what weights and reserve leave", "at full length"),
    "moe.predict-touched": ("each token to 8 of 256", "How many different experts"),
    "moe.predict-group": ("nothing overlaps", "whichever is longer", "together"),
    "moe.predict-skew": ("wait for the slowest", "share", "put to use"),
    "moe.kimi": ("store", "its router included"),
    "moe.ridge": ("Each GPU decodes 64", "How many GPUs must share"),
    "moe.least-ep": ("keep 30 GB", "fewest GPUs that hold", "experts shared out"),
    "moe.copies": ("once to every GPU that holds one", "does it arrive"),
    "roofline.predict-ridge": (
        "How many FLOPs",
        "with every byte",
        "neither side waits",
    ),
    "roofline.predict-batch": (
        "needs at least",
        "such requests decode together",
        "How long does the iteration take at least",
    ),
    "roofline.predict-long": (
        "a long context",
        "more cache than weights",
        "double the batch",
        "FLOPs per byte",
    ),
    "roofline.predict-served": ("bound for one request", "also launches", "How long"),
    "roofline.kv-per-token": ("How many bytes does one token", "16-bit cache"),
    "roofline.speed": ("in FP8", "on one H200", "tokens a second", "at most"),
    "roofline.fits": ("fit beside", "on one H200", "Whole requests only"),
    "tensor-parallel.predict-bytes": ("four all-gathers", "two all-reduces", "fall …"),
    "tensor-parallel.predict-degree": ("On four", "take on eight"),
    "tensor-parallel.predict-head": ("one head only", "cut over two GPUs"),
    "tensor-parallel.prefill-bytes": ("How many bytes leave each GPU",),
    "tensor-parallel.fits": ("on both together", "How many tokens of cache fit"),
    "tensor-parallel.turn": ("On four H100s", "two shots faster"),
    "varlen.predict-masked": (
        "Sixty-four prompts of 128",
        "the whole square",
        "a block for each request",
        "How many times as many",
        "the first",
    ),
    "varlen.predict-dominates": (
        "one prompt of 1,000 tokens",
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
    "varlen.tiles": ("64 requests of 130", "anew with each", "skips", "is useful"),
    "varlen.overtake": (
        "multiplies each row with",
        "with a kernel",
        "only what the causal mask allows",
        "more of the work",
    ),
}
RIGHT = {
    "afd.predict-context": "more of them",
    "afd.predict-hidden": "none of it",
    "afd.predict-slowest": "nearly nothing",
    "continuous-batching.predict-late": "a few tens of milliseconds",
    "continuous-batching.predict-freeze": "about half a second",
    "continuous-batching.predict-price": "about half as much again",
    "deepseek.predict-longest": "dispatch and combine",
    "deepseek.predict-overlap": "it gets slower",
    "deepseek.predict-vanilla": "the plain form",
    "disaggregation.predict-hide": "no, about the same link will do",
    "disaggregation.predict-ride": "a fifth less than alone",
    "disaggregation.predict-promise": (
        "two pools under the strict one, one engine under the loose one"
    ),
    "end-to-end.predict-the": "to both the same",
    "end-to-end.predict-past": "mathematically they stay exactly the same",
    "end-to-end.predict-growth": "eight",
    "how-wrong.predict-left": "less than 10 %",
    "how-wrong.predict-term": "time per layer",
    "how-wrong.predict-seesaw": "later first tokens, and answers about as quick",
    "moe.predict-touched": "about 220",
    "moe.predict-group": "about as long as before",
    "roofline.predict-batch": "about a third longer",
    "roofline.predict-long": "it grows by about a fifth",
    "roofline.predict-served": "about 7 ms",
    "tensor-parallel.predict-bytes": "to more than half",
    "tensor-parallel.predict-degree": "less, but clearly more than half",
    "tensor-parallel.predict-head": "a wrong output",
    "varlen.predict-dominates": "the linear layers",
    "varlen.predict-padding": "about 60 %",
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
