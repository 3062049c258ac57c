"""A prompt asks in the unit of its answer, and prints its data to the last digit.

Cents where dollars are meant pass every test that computes in dollars, and a datum that
is off by less than an answer may be passes every test that computes an answer: 72% of
a peak instead of 72.05%.
"""

import re
from collections.abc import Callable, Iterator

import pytest

from llmserve_lab import catalog
from llmserve_lab.collectives import calibration
from llmserve_lab.kv_memory.machine import BLOCK, num_blocks
from llmserve_lab.page.question.content import text_of
from llmserve_lab.page.question.judge import judge
from llmserve_lab.running_example import setting
from tests.page.amounts import amounts, untrue
from tests.page.given import GIVEN
from tests.page.prompts import PROMPTS
from tests.page.test_hints import MINE, NUMERIC, plain_text
from tests.page.test_numbers_of_prompts import said
from tests.page.test_prompts import LEAST, data

# A word of amounts that a question asks for: the unit that a bare number then has.
ASKED = {
    "dollars": "dollar", "cents": "cent", "euros": "euro",
    "seconds": "s", "milliseconds": "ms", "microseconds": "µs", "minutes": "min",
    "bytes": "byte", "kilobytes": "kB", "megabytes": "MB", "gigabytes": "GB",
    "kB": "kB", "MB": "MB", "GB": "GB", "KiB": "KiB", "MiB": "MiB", "GiB": "GiB",
    "FLOPs": "FLOP", "GFLOP": "GFLOP", "TFLOP": "TFLOP", "PFLOP": "PFLOP",
    "tokens": "token", "requests": "request",
}  # fmt: skip
# Answers without a unit of their own, and what they are counted in.
BARE = {"disaggregation.token-cost": "dollar", "kv-memory.window": "GiB"}
# Sentences that ask for bytes and are answered in GB: so does every prefix of a unit.
FREE = {"byte", "FLOP", "token", "request"}
MONEY = {"dollar", "cent", "euro"}
SPANS = {"hour": 3600, "minute": 60, "day": 86_400, "week": 604_800}
HOW = re.compile(r"\b(?:[Hh]ow (?:many|much|long|far)|[Ww]hat)\b[^.?]*\?")


def asks(name: str) -> set[str]:
    """Units that the sentence with the question mark names behind "how many", "in"."""
    prompt = said(name)
    sentence = [*HOW.findall(prompt), prompt][-1] if "?" in prompt else ""
    *_, after = prompt.rpartition(sentence) if sentence else [""]
    many = re.findall(r"[Hh]ow many (\w+)", sentence)
    inside = re.findall(r"\bin (\w+)", sentence + after)
    return {ASKED[word] for word in (*many, *inside) if word in ASKED}


@pytest.mark.parametrize("name", [each for each in NUMERIC if asks(each) - FREE])
def test_a_bare_number_is_read_in_the_unit_of_the_prompt(name: str) -> None:
    question = MINE[name]
    kept = BARE.get(name) or question.asked_in or question.unit
    assert asks(name) - FREE == {re.split("[/*]", kept)[0]}
    factor = 1.0
    if question.asked_in:
        of, to = (catalog_size(u) for u in (question.unit, question.asked_in))
        factor = of / to
    assert judge(question, f"{question.right * factor:.6g}")
    for times in (0.01, 100, 1e3, 1e-3, 60):
        assert not judge(question, f"{question.right * factor * times:.6g}")


def catalog_size(unit: str) -> float:
    """Of a unit, how many of the same without a prefix it is."""
    amount = re.split("[/*]", unit)[0]
    prefixes = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "µ": 1e-6}
    plain = amount in ("byte", "FLOP", "s", "token", "request")
    return 1.0 if plain else prefixes[amount[0]]


def texts(name: str) -> Iterator[str]:
    """All that a reader sees of a question: prompt, choices, hints and reason."""
    question = MINE[name]
    yield from (text_of(question.prompt), *map(text_of, question.choices))
    yield from (text_of(hint.text) for hint in question.hints)
    yield text_of(question.why) if question.why else ""


def money(text: str) -> set[str]:
    words = re.findall(r"\b(dollar|cent|euro)s?\b", text.replace("per cent", ""))
    return {*words} | ({"dollar"} if "$ " in text or "US$" in text else set())


def test_a_question_is_in_one_currency_and_one_part_of_it() -> None:
    priced = [name for name in MINE if money(said(name))]
    found = {name: {m for text in texts(name) for m in money(text)} for name in priced}
    assert "disaggregation.token-cost" in found
    for name, words in found.items():
        assert words == {"dollar"}, name
        kept = BARE.get(name) or MINE[name].unit
        assert kept.startswith("dollar"), name


def constants(answer: Callable[..., float]) -> set[float]:
    """Numbers that a formula of a prompt brings along, names of them looked up."""
    code, known = answer.__code__, answer.__globals__
    named = {known[n] for n in code.co_names if isinstance(known.get(n), int | float)}
    return {float(c) for c in (*code.co_consts, *named) if isinstance(c, int | float)}


def test_a_span_of_time_in_a_prompt_has_its_seconds_in_the_formula() -> None:
    """An hour, 3600; a minute or a day in its place would need another number."""
    count = 0
    for name, answer in PROMPTS.items():
        priced = re.findall(r"\b(?:an?|per) (hour|minute|day|week)\b", said(name))
        known = constants(answer)
        assert {SPANS[w] for w in priced} == known & {*SPANS.values()} - {60}, name
        count += len(priced)
        million = re.search(r"\b(?:a million|microseconds)\b", said(name))
        assert bool(million) == (1e6 in known), name
    assert count


# Data of the prompts from which answers are computed, each to its last digit.
SMALL, BIG = catalog.model("llama-3.1-8b"), catalog.model("llama-3.1-70b")


def products(shape: catalog.ModelShape) -> float:
    """FLOPs of one row in the matrices: two for each parameter, the table's none."""
    return 2.0 * (shape.params_total - shape.vocab * shape.d_model)


def peak() -> tuple[float, float]:
    """FLOP/s of the datasheet, and the share of it in the digits that are printed."""
    known = setting()
    return float(known["peak_flops"]), float(f"{float(known['eff_compute']):.4f}")


def row_s() -> float:
    """What the simulator computes a row in."""
    known = setting()
    return products(SMALL) / float(known["peak_flops"]) / float(known["eff_compute"])


def lines() -> list[float]:
    """Start, tensors and speed of a one-shot and a two-shot all-reduce on four GPUs."""
    speed = float(catalog.link(calibration.LINK).bandwidth)
    one, two = calibration.one_shot(), calibration.two_shot()
    first = [one.start_s, 4 - 1, one.share * speed]
    return [*first, two.start_s, 2 * (4 - 1) / 4, two.share * speed]


def pair(layers: int, heads: int, wide: int) -> float:
    """FLOPs of a query with a key and a value, in all layers and heads."""
    return 4.0 * layers * heads * wide


def passed(layers: int, heads: int, wide: int) -> float:
    """Bytes of a token's queries, or outputs, with their sums in two bytes each."""
    return 2.0 * layers * heads * (2 * wide + 1)


EXACT: dict[str, Callable[[], list[float]]] = {
    "continuous-batching.freeze": lambda: [
        2.0**15, products(SMALL), pair(32, 32, 128), peak()[0] * peak()[1],
    ],
    "flash-attention.predict-busy": lambda: [8, 132],
    "kv-memory.even": lambda: [row_s(), 4 * 32 * 8 * 128],
    "kv-memory.fits": lambda: [num_blocks() * BLOCK, 6000, 2.0**15],
    "parallelism.follow-up": lambda: [
        20_000, 4000, 4.0 * 126 * 8 * 128, passed(126, 128, 128),
    ],
    "quantization.stored": lambda: [
        SMALL.params_total, SMALL.vocab * SMALL.d_model, 16, 4, 16, 8,
    ],
    "roofline.predict-ridge": lambda: [
        float(setting()["peak_flops"]), float(setting()["hbm_bw"]),
    ],
    "tensor-parallel.turn": lambda: [*lines(), 2 * BIG.d_model],
    "varlen.overtake": lambda: [
        products(BIG) / 2 - BIG.vocab * BIG.d_model, pair(80, 64, 128),
    ],
    "varlen.padding-time": lambda: [500, 1500, row_s()],
}  # fmt: skip
OTHERS_CHANGE = ("capacity.", "deepseek.")  # their data are read in their own rooms


@pytest.mark.parametrize("name", EXACT)
def test_a_datum_is_printed_to_its_last_digit(name: str) -> None:
    assert untrue(said(name), EXACT[name]()) == []


def loose(name: str) -> Iterator[str]:
    """Data of three digits and more, of which others would leave an answer right."""
    question, numbers = MINE[name], [*data(said(name))]
    near = max(question.rel_tol, LEAST)
    for at, (digits, value, half) in enumerate(amounts(said(name))):
        changed = [*numbers[:at], value + 8 * half, *numbers[at + 1 :]]
        off = PROMPTS[name](*changed) / question.right - 1
        if abs(off) <= near and len(digits.replace(".", "").strip("0")) > 2:
            yield digits


def test_a_datum_that_no_answer_holds_stands_here() -> None:
    left = {
        name: found
        for name in PROMPTS
        if not name.startswith(OTHERS_CHANGE)
        if (found := list(loose(name)))
    }
    assert left.keys() - GIVEN.keys() <= EXACT.keys()
    assert len(left) > 8


def test_a_wrong_word_or_digit_is_found() -> None:
    assert money("What does it cost, in cents?") == {"cent"}
    assert money("12 per cent of 3 dollars") == {"dollar"}
    says = plain_text(said("continuous-batching.freeze"))
    right, share = peak()
    wrong = says.replace(f"{right * share / 1e12:.1f}", f"{0.72 * right / 1e12:.1f}")
    assert wrong != says
    assert untrue(wrong, EXACT["continuous-batching.freeze"]()) != []
