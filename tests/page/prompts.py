"""What each number of a prompt is worth in an answer: formulas of those numbers alone.

Read from the prompts once more. Numbers come in the order in which a prompt states
them, in units without a prefix; those that a prompt writes as words stand here.
"""

from collections.abc import Callable
from math import ceil, exp, floor

HOUR_S = 3600
Answer = Callable[..., float]


def _interval(
    tpot: float, clients: float, _: float, low: float, __: float, *rest: float
) -> float:
    """GPUs where the measured time is longest: an error is of the measured time."""
    first, tokens, gpus, wanted = rest
    seconds = first + (tokens - 1) * tpot / (1 - low)
    return gpus * ceil(wanted / (clients * tokens / seconds))


def _token(
    blocks: float, width: float, heads: float, pairs: float, *rest: float
) -> float:
    """FLOPs of a token: matrices of all blocks and the LM head, and its pairs."""
    d_head, inside, vocab, before = rest
    attention = width * (2 * heads + 2 * pairs) * d_head
    matrices = blocks * (attention + 3 * width * inside) + width * vocab
    return 2 * matrices + 4 * blocks * heads * d_head * (before + 1)


def both_rates(*each: float) -> list[float]:
    """Tokens per µs and machine: a split with one port, a group in as much time."""
    n_attn, n_ffn, row, rows, start, attn, ffn, fixed, more = each
    period = max(attn, ffn, (attn + ffn + row * rows + start) / 2)
    requests = (2 * period - fixed) / more
    split = rows / (n_attn + n_ffn) / period
    return [1e-6 * split, 1e-6 * requests / (2 * period)]


def behind(*each: float) -> float:
    split, group = both_rates(*each)
    return 1 - split / group


def _wasted(*answers: float) -> float:
    used = answers[:4]
    return 1 - sum(used) / (4 * max(used))


def _mape(*each: float) -> float:
    return sum(abs(p / m - 1) for p, m in zip(each[:8:2], each[1:8:2], strict=True)) / 4


def _turn(start: float, q: float, rate: float, later: float, *rest: float) -> float:
    """Where the second line comes to lie below the first; nowhere if it is steeper."""
    less, faster, row = rest
    gains = (q / rate - less / faster) * row
    return (later - start) / gains if gains > 0 else 0.0


PROMPTS: dict[str, Answer] = {
    "afd.same-time": behind,
    "capacity.idle": lambda most, mean, one: mean / (ceil(most / one) * one),
    "capacity.headroom": lambda one, n, grows, period, s: (
        one - grows * (period + s) / n
    ),
    "capacity.apart": lambda dollars, tokens, s: dollars / HOUR_S * s / tokens * 1e6,
    "continuous-batching.idle": _wasted,
    "continuous-batching.freeze": lambda n, row, pair, rate: (
        (n * row + n**2 / 2 * pair) / rate
    ),
    "deepseek.touched": lambda rows, k, n, own: own * (1 - (1 - k / n) ** rows),
    "deepseek.expand": lambda tokens, params: 2 * tokens * params,
    "deepseek.fits": lambda tokens, _, weights, used, token: floor(
        (used - weights) / (tokens * token)
    ),
    "disaggregation.handoff": lambda tokens, each, rate: tokens * each / rate,
    "disaggregation.sizing": lambda rate, _, __, ___, read, write: (
        ceil(rate * read) + ceil(rate * write)
    ),
    "disaggregation.stretch": lambda step, rate, ride: step / (1 - rate * ride),
    "disaggregation.token-cost": lambda dollars, rate: dollars / HOUR_S / rate * 1e6,
    "end-to-end.per-token": lambda n, heads, wide, size, _: 2 * n * heads * wide * size,
    "end-to-end.predict-rows": lambda prompt, new: (
        (new * prompt + new * (new - 1) / 2) / (prompt + new - 1)
    ),
    "end-to-end.token": _token,
    "flash-attention.predict-busy": lambda heads, sms: heads / sms,
    "flash-attention.square": lambda rows, bits: rows**2 * bits / 8,
    "flash-attention.running-sum": lambda *each: sum(exp(x - max(each)) for x in each),
    "flash-attention.keys-that-fit": lambda wide, bits, rows, room, step: (
        step * floor((room - rows * wide * bits / 8) / (4 * wide * bits / 8) / step)
    ),
    "flash-attention.splits": lambda _, sms: ceil(sms / 4),
    "how-wrong.mape": _mape,
    "how-wrong.interval": _interval,
    "how-wrong.blocks": lambda n, each, share, weights, kept, _, block: floor(
        (n * each * share - weights - n * kept) / block
    ),
    "kv-memory.fits": lambda room, same, each: floor((room - same) / (each - same)),
    "kv-memory.window": lambda n, heads, wide, bits, cut, chunk, tokens: (
        (cut * chunk + (n - cut) * tokens) * 2 * heads * wide * bits / 8 / 2**30
    ),
    "kv-memory.even": lambda row, token: 2 * token / row,
    "moe.predict-skew": lambda gpus, hot, rest, _: 1 / gpus / (hot + rest / gpus),
    "moe.sending": lambda n, rows, k, size, node, rate, start: (
        1e6 * (rows * k * size * (1 - node / n) / rate + start)
    ),
    "moe.ridge": lambda rows, k, n, batch: ceil(rows * n / k / batch),
    "moe.least-ep": lambda experts, rest, room, kept: ceil(
        experts / (room - kept - rest)
    ),
    "parallelism.follow-up": lambda old, new, kv, q: kv * (old + new) / (q * new),
    "parallelism.even": lambda _, weights, token: 7 * weights / token,
    "quantization.bits": lambda code, scale, group: code + scale / group,
    "quantization.stored": lambda n, table, wide, code, group, scale: (
        (2 * table * wide + (n - 2 * table) * (code + scale / group)) / 8
    ),
    "quantization.worst": lambda largest, _, codes: largest / codes / 2,
    "roofline.predict-ridge": lambda flops, bandwidth: flops / bandwidth,
    "roofline.kv-per-token": lambda bits, n, _, heads, wide: (
        2 * n * heads * wide * bits / 8
    ),
    "roofline.speed": lambda weights, _, bandwidth: bandwidth / weights,
    "roofline.fits": lambda tokens, weights, _, room, token: floor(
        (room - weights) / (tokens * token)
    ),
    "speculative.common": lambda *p: sum(map(min, p[:3], p[3:])),
    "speculative.by-hand": lambda check, draft, a, _: (
        (check + 3 * draft) / (1 + a + a**2 + a**3)
    ),
    "speculative.endless": lambda kept: 1 / (1 - kept),
    "speculative.break-even": lambda _, check, plain, draft: (
        (check + 4 * draft) / plain
    ),
    "symptoms.slots": lambda blocks, size, prompt, answer: floor(
        blocks / ceil((prompt + answer) / size)
    ),
    "symptoms.running": lambda latency, queue: 4 * (latency - queue),
    "symptoms.ran": lambda n, first, latency, _, alone, __: (
        n * (latency - first + alone) / latency
    ),
    "tensor-parallel.prefill-bytes": lambda rows, n, bits, layers, wide: (
        2 * layers * 2 * (n - 1) / n * rows * wide * bits / 8
    ),
    "tensor-parallel.fits": lambda _, weights, used, token: (
        (2 * used - weights) / token
    ),
    "tensor-parallel.turn": _turn,
    "varlen.waste": lambda *each: 1 - sum(each) / (len(each) * max(each)),
    "varlen.padding-time": lambda mean, longest, row: 16 * (longest - mean) * row,
    "varlen.tiles": lambda _, n, rows, keys: (
        n * (n + 1) / 2 / (ceil(n / rows) * (ceil(n / rows) + 1) / 2 * rows * keys)
    ),
    "varlen.overtake": lambda params, pair: 4 * params / pair,
}
# Their prompts count in words, or send the reader to a formula or a figure.
OTHERS = {
    "afd.best-ratio",
    "afd.loop",
    "continuous-batching.chunk-fits",
    "end-to-end.dog",
    "parallelism.bubble",
    "parallelism.predict-runs",
    "varlen.predict-masked",
}
