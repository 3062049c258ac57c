"""One group of eight GPUs or two groups of four: what each is better at, in a table."""

from __future__ import annotations

from llmserve_lab.formula.band import Band, Limit, Unmeasured
from llmserve_lab.page.table import Table
from llmserve_lab.roofline.formulas import WEIGHTS_S
from llmserve_lab.running_example import PROMPT, band
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel import worked_example as worked
from llmserve_lab.tensor_parallel.arguments import DEFAULT, MODEL
from llmserve_lab.tensor_parallel.fits import slot_tokens
from llmserve_lab.tensor_parallel.published import by_degree, errors_of
from llmserve_lab.validation.bands import Predicted

ONE, HALF = 8, 4  # GPUs of the one group, and of each of the two
MOST_REQUESTS = 10_000  # each even number up to it is priced
SERVED = (1, 32, 512)  # requests that decode at a time, over all eight GPUs
LIKE = " on runs like this"
Off = Band | Limit | Unmeasured


def _band(kind: Predicted, clients: int, tp: int) -> Off:
    return band(kind, clients=clients, tp=tp, model_key=MODEL.key)


def tokens_per_s(n_gpus: int, batch: int) -> float:
    """Tokens per second of one group whose requests all decode."""
    return batch / worked.iteration_s(n_gpus, batch=batch)


def change_over(error: float = 0.0) -> int:
    """The fewest requests, an even number, for which two groups write more.

    ``error`` is by how much the gain of the one group is predicted too high.

    Raises:
        ValueError: with such an error one group is ahead with any number of requests.
    """
    factor = 1 + error
    for batch in range(2, MOST_REQUESTS + 1, 2):
        if tokens_per_s(ONE, batch) < factor * 2 * tokens_per_s(HALF, batch // 2):
            return batch
    raise ValueError(
        f"error must let two groups write more by {MOST_REQUESTS:,} requests, "
        f"got {error}"
    )


def change_range() -> tuple[int, int]:
    """Where they change over if the prediction is off as four measured gains in five.

    Measured were gains from four GPUs to eight with as many requests on both.
    """
    low, high = errors_of(by_degree(ONE))
    return change_over(high), change_over(low)


def shares_ms(n_gpus: int, batch: int) -> dict[str, float]:
    """What of an iteration depends on the number of GPUs, in ms, as it is printed.

    Reading and multiplying, half of the shorter hidden; then the time on the host and
    the bytes of the all-reduces, which are dear for the requests of one large group.
    """
    known = DEFAULT | worked.load(batch) | {"n_ranks": float(n_gpus)}
    read = round(float(WEIGHTS_S.at(known)) / n_gpus / worked.MILLI, 2)
    multiply = round(float(f.CUT_LINEAR_S.at(known)) / n_gpus / worked.MILLI, 2)
    shorter, longer = sorted((read, multiply))
    beside_s = batch * float(known["request_s"]) + worked.ring_part_s(n_gpus, batch)
    return {
        "read": read,
        "multiply": multiply,
        "both": round(longer + (1 - float(known["overlap"])) * shorter, 2),
        "beside": round(beside_s / worked.MILLI, 2),
    }


def _text(value: float) -> str:
    """A number to three digits, to four above ten thousand."""
    digits = 4 if value >= 10_000 else 3
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if value >= 100 else f"{value:#.3g}"


def _row(name: str, one: float, two: float, *, time: bool = False) -> tuple[str, ...]:
    """Either way, and by what factor the one group is better."""
    gain = two / one if time else one / two
    return (name, _text(one), _text(two), f"{gain:.2f}")


def _decode(batch: int) -> tuple[str, ...]:
    """Tokens per second of all eight GPUs, either way."""
    if batch == 1:
        pair = (tokens_per_s(ONE, 1), tokens_per_s(HALF, 1))
        return _row("1 request, tokens/s", *pair)
    pair = (tokens_per_s(ONE, batch), 2 * tokens_per_s(HALF, batch // 2))
    return _row(f"{batch} requests, tokens/s [1]", *pair)


def _bands() -> str:
    """How far off such rates were, where something like them was measured."""
    said = list[str]()
    for batch in SERVED[1:]:
        one, two = (
            _band("decode_step", batch // (ONE // tp), tp).inverse()
            for tp in (ONE, HALF)
        )
        either = f"{one.short} (TP 8) and {two.short} (2 × TP 4)".replace(LIKE, "")
        said.append(f"{batch} requests: {either}")
    return (
        "Two groups share the requests evenly. Nine predicted rates in ten"
        f"{LIKE} were off by less than this: {'; '.join(said)}. All other times and "
        "rates: outside everything measured. Room is counted."
    )


def choice() -> Table:
    """Eight H100s for Llama-3.1-70B in BF16, as one group or as two."""
    prompt_ms = [1e3 * worked.prefill_s(g) for g in (ONE, HALF)]
    room = [worked.cached_tokens(ONE), 2 * worked.cached_tokens(HALF)]
    most = SERVED[-1]
    full = [slot_tokens(ONE, most), 2 * slot_tokens(HALF, most // 2)]
    rows = [
        _row(f"prompt of {PROMPT:,}, ms", *prompt_ms, time=True),
        _row(
            f"prompts of {PROMPT:,} a second, one at a time",
            1e3 / prompt_ms[0],
            2e3 / prompt_ms[1],
        ),
        *(_decode(batch) for batch in SERVED),
        ("room, tokens", *(f"{n:,}" for n in room), f"{room[0] / room[1]:.2f}"),
        (
            f"the same, slots for {most} requests",
            *(f"{n:,}" for n in full),
            f"{full[0] / full[1]:.2f}",
        ),
    ]
    columns = ("eight H100s", "TP 8", "2 × TP 4", "gain")
    caption = "Eight H100s as one group of eight, or as two groups of four"
    return Table(caption, columns, rows, notes=(_bands(),))
