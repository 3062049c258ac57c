"""The numbers of an explanation, in their order, worked out once more.

An answer is checked against its prompt elsewhere; why it is so is told with numbers
between, which may be those of another case, or of another step of the calculation.
"""

import re
from collections.abc import Callable

import pytest

from llmserve_lab.continuous_batching import lanes, tuning
from llmserve_lab.continuous_batching.machine import LONG, calm, hidden
from llmserve_lab.continuous_batching.page import slots
from llmserve_lab.continuous_batching.workloads import four as requests
from llmserve_lab.engine import Continuous, IterationLoad, Pool, simulate
from llmserve_lab.kv_memory import serving
from llmserve_lab.kv_memory.waste import SERVICES, lives, wasted
from llmserve_lab.page.question.content import text_of
from llmserve_lab.quantization import decision, outliers, tables
from llmserve_lab.quantization.measured import rate_gain
from llmserve_lab.quantization.speed import Bits, prefill_s, served
from llmserve_lab.running_example import cost
from llmserve_lab.speculative import machine
from tests.page.test_hints import MINE, plain_text

Numbers = list[float]
NUMBER = re.compile(r"(?<![\w.,-])(?<!Llama-)\d[\d,]*(?:\.\d+)?(?![\w-])")
CHAPTERS = ("continuous-batching", "kv-memory", "quantization", "speculative")


def late() -> Numbers:
    """C's wait when slots are refilled, in ms, and its prompt."""
    run = simulate(requests(), Pool(cost(), Continuous(2)))
    return [1e3 * float(run.ttft_s[run.id == slots.LATE][0]), 1000]


def freeze() -> Numbers:
    load = calm().plus(IterationLoad.of(chunk=16_384))
    return [1e3 * cost().seconds(load)]


def price() -> Numbers:
    """First token under the budget, in one piece, and if launches cost all or none."""
    late_s, whole_s = tuning.trade(512).ttft_s, lanes.ttft_s(lanes.whole())
    computed_s = cost().compute_s(IterationLoad.of(chunk=LONG))
    chunk = 512 - 5
    prefixes = range(0, LONG, chunk)
    again_s = sum(prefixes) * cost().kv_token_s
    again_s += (len(prefixes) - 1) * (1 - cost().overlap) * cost().weights_s
    ends = [tuning.trade(512, each).ttft_s for each in (hidden(), cost())]
    return [late_s, 100 * (late_s / whole_s - 1), computed_s, again_s, *ends]


def by_hand() -> Numbers:
    """Rows, then half of a square of pairs, over the rate of the prompt."""
    rows = 32_768
    linear, pairs = rows * 15.01e9 / 712.9e12, rows**2 / 2 * 524.3e3 / 712.9e12
    both = linear + pairs
    load = calm().plus(IterationLoad.of(chunk=rows))
    return [rows, linear, rows, pairs, both, both, cost().seconds(load)]


def chunks() -> Numbers:
    fits = [cost().chunk_within(0.1, load=calm(), context=at) for at in (73_728, 0)]
    return [float(each) for each in fits]


def foreseen() -> Numbers:
    """Share that is written, of lengths rounded up to a power of two."""
    used = wasted(SERVICES[0]).used
    answers = sum(answer for _, answer in lives(SERVICES[0]))
    final = sum((p + a) * a for p, a in lives(SERVICES[0])) / answers
    powers = sum(2 ** (p + a - 1).bit_length() * a for p, a in lives(SERVICES[0]))
    aside = powers / answers
    return [100 * used / aside, 100 * final / aside, 100 * used / final]


def rate() -> Numbers:
    """Requests over the time of their step: with paging, and with reservations."""
    held = wasted(SERVICES[0]).used
    (few, many) = re.findall(
        r"holds (\d+) .* and (\d+)", prompt("kv-memory.predict-rate")
    )[0]
    rates = [int(n) / serving.step_s(int(n), held) for n in (many, few)]
    return [rates[0] / rates[1]]


def one_step() -> Numbers:
    four = Bits("int4")
    seen, said = rate_gain("int4", 1)
    terms = [tables.step_parts(bits, 1) for bits in (Bits(), four)]
    stays = terms[0]["step"] - terms[0]["longer + ½ shorter"]
    reads = [1e3 * each["read weights"] for each in terms]
    return [
        decision.step_gain(four, 1),
        0.15,
        seen,
        said,
        reads[0],
        16,
        reads[1],
        1e3 * stays,
    ]


def long_prompt() -> Numbers:
    wide, *few = (
        prefill_s(served(Bits(b)), prompt=8192) for b in ("bf16", "int4", "fp8")
    )
    return [wide / few[0], 16, 8, wide / few[1]]


def loud() -> Numbers:
    errors = [outliers.by_group(outliers.matrix(num_outliers=n)) for n in (4, 0)]
    return [100 * each["a scale a row"] for each in errors]


def eight() -> Numbers:
    two, more = (machine.speedup(32, k, machine.usual(), machine.SMALL) for k in (2, 8))
    return [two, more]


def five_rows() -> Numbers:
    return [1e3 * machine.verify_s(1, 4), 1e3 * machine.plain_s(1)]


GIB = 2.0**30
SCOUT = 2 * 8 * 128 * 2  # bytes of a token in a layer
FULL, CHUNKED = 12 * SCOUT * 131_072 / GIB, 36 * SCOUT * 8_192 / GIB
ROOM = 451_584
# Three drafts, each kept with chance 0.7: tokens of a pass.
YIELD = 1 + 0.7 + 0.7**2 + 0.7**3
WHYS: dict[str, Callable[[], Numbers]] = {
    "continuous-batching.predict-late": late,
    "continuous-batching.predict-freeze": freeze,
    "continuous-batching.predict-price": price,
    "continuous-batching.idle": lambda: [800, 4 * 800, 1400, 1 - 1400 / 3200],
    "continuous-batching.freeze": by_hand,
    "continuous-batching.chunk-fits": chunks,
    "kv-memory.predict-waste": foreseen,
    "kv-memory.predict-rate": rate,
    "kv-memory.fits": lambda: [
        ROOM, 6000, 32_768, 6000, (ROOM - 6000) / 26_768, (ROOM - 6000) // 26_768,
    ],
    "kv-memory.window": lambda: [FULL, 36, 8192, CHUNKED, FULL + CHUNKED],
    "kv-memory.even": lambda: [2 * 131_072 / 21.06e-6 / 1e9],
    "quantization.predict-one": one_step,
    "quantization.predict-prompt": long_prompt,
    "quantization.predict-group": loud,
    "quantization.bits": lambda: [4, 16, 64, 4.25, 8, 16, 4 + 8 / 16],
    "quantization.stored": lambda: [
        8.03 - 2 * 0.525, 4.5, 6.98 * 4.5 / 8, 0.525, 16, 2 * 0.525 * 2,
        6.98 * 4.5 / 8 + 2.1,
    ],
    "quantization.worst": lambda: [0.63, 7, 0.63 / 7, 0.63 / 14],
    "speculative.predict-redraw": lambda: [0.2, 0.3, 0.5, 0.2 + 0.3 * 0.5, 0.5],
    "speculative.predict-rows": five_rows,
    "speculative.predict-eight": eight,
    "speculative.common": lambda: [1, 0.2, 0.3, 0.1, 0.6],
    "speculative.by-hand": lambda: [
        3, 1.9, 7, 12.7, YIELD, 12.7 / YIELD, 7,
    ],
    "speculative.endless": lambda: [1, 1, 0.75, 4],
    "speculative.break-even": lambda: [4, 2.7, 15.5, 11.6, (4 * 2.7 + 15.5) / 11.6],
}  # fmt: skip
# The runs that it tells of take long; a test of the chapter has their property.
LONG_RUNS = {"kv-memory.predict-routing"}


def prompt(name: str) -> str:
    return plain_text(text_of(MINE[name].prompt))


def close(text: str, want: float) -> bool:
    """As near as the last digit that is printed."""
    last = 10.0 ** -len(text.partition(".")[2])
    number = float(text.replace(",", ""))
    return abs(number - want) <= 0.51 * last or number == pytest.approx(want, rel=5e-3)


@pytest.mark.parametrize("name", WHYS)
def test_each_number_of_an_explanation_is_worked_out_again(name: str) -> None:
    said = plain_text(text_of(MINE[name].why)).replace("²", "").rstrip(".")
    found, want = [n.rstrip(",") for n in NUMBER.findall(said)], WHYS[name]()
    assert len(found) == len(want), (found, want)
    for text, number in zip(found, want, strict=True):
        assert close(text, number), (text, number)


def test_every_explanation_of_these_chapters_was_read() -> None:
    mine = {name for name in MINE if name.split(".")[0] in CHAPTERS}
    assert set(WHYS) | LONG_RUNS == mine
