"""The chapter's closed forms, counted: codes packed into bytes, tensors, the engine."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from llmserve_lab.catalog import ACCELERATORS, MODELS
from llmserve_lab.engine import IterationCost
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.quantization import formulas as f
from llmserve_lab.quantization.codecs import IntFormat
from llmserve_lab.quantization.schemes import SCALE_BITS, Quantized, Scheme, quantize
from tests.counted import Case, counts

GPU = ACCELERATORS["h100-sxm"]
PEAKS = {key: float(GPU.peak(key)) for key in ("bf16", "fp8")}
SHAPES = [MODELS[key] for key in ("llama-3.1-8b", "llama-2-7b", "qwen3-32b")]


def drawn(rng: random.Random) -> tuple[Scheme, Quantized]:
    """Rows of numbers, quantized to whole numbers in groups."""
    group = rng.choice((4, 8, 16))
    numbers = IntFormat("", "", rng.choice((2, 4, 8)))
    scheme = Scheme("", "", numbers, rng.choice(("fp32", "fp16")), group)
    x = np.random.default_rng(rng.randrange(999)).standard_normal((3, 2 * group))
    return scheme, quantize(x, scheme)


@counts(f.GROUP_SCALE, by="executed")
def group_scale(rng: random.Random) -> Case:
    """What multiplies the codes of a group whose largest number is a whole one."""
    bits, units = rng.choice((4, 8)), rng.randint(1, 99)
    numbers = IntFormat("", "", bits)
    largest = numbers.largest * units / 64
    x = np.append(np.linspace(-0.9, 0.9, 7) * largest, largest)
    found = quantize(x, Scheme("", "", numbers, "fp32"))
    return Case(
        {"group_max": largest, "largest_code": numbers.largest}, found.scales[0]
    )


@counts(f.ROUNDING_BOUND, by="executed")
def rounding_bound(rng: random.Random) -> Case:
    """Round a fine comb of numbers, halves of a step among them; keep the worst."""
    units = rng.randint(1, 99)
    numbers = IntFormat("", "", 4)
    largest = numbers.largest * units / 64
    x = np.linspace(-largest, largest, 28 * 20 + 1)
    rounded = quantize(x, Scheme("", "", numbers, "fp32")).dequantize()
    values = {"group_max": largest, "largest_code": numbers.largest}
    return Case(values, float(np.abs(x - rounded).max()))


def packed_bits(scheme: Scheme, found: Quantized) -> int:
    """Write every code and every scale as zeros and ones, and count them."""
    width = scheme.numbers.bits
    codes = "".join(f"{code:0{width}b}" for code in found.codes.ravel())
    kind = np.float32 if scheme.kind == "fp32" else np.float16
    return len(codes) + 8 * len(found.scales.astype(kind).tobytes())


def asked(scheme: Scheme) -> dict[str, float]:
    return {
        "code_bits": scheme.numbers.bits,
        "scale_bits": SCALE_BITS[scheme.kind],
        "group_size": scheme.group,
    }


@counts(f.EFFECTIVE_BITS, by="executed")
def effective_bits(rng: random.Random) -> Case:
    scheme, found = drawn(rng)
    return Case(asked(scheme), packed_bits(scheme, found) / found.codes.size)


@counts(f.QUANTIZED_BYTES, by="executed")
def quantized_bytes(rng: random.Random) -> Case:
    scheme, found = drawn(rng)
    return Case(asked(scheme), packed_bits(scheme, found) / 8 / found.codes.size)


def by_tensor(rng: random.Random, *, stored: bool) -> Case:
    """Walk over the tensors of a model: what is in few bits, and what is not."""
    shape, scheme = rng.choice(SHAPES), drawn(rng)[0]
    few = (scheme.numbers.bits + SCALE_BITS[scheme.kind] / scheme.group) / 8
    total = 0.0
    for tensor in shape.tensors():
        size = tensor.copies * float(np.prod(tensor.shape))
        if tensor.name == "embed_tokens":
            total += 2 * size if stored else 0
        else:
            total += size * (2 if tensor.name == "lm_head" else few)
    known = {
        "params_read": shape.params_read,
        "params_head": shape.vocab * shape.d_model,
        "bytes_weight": 2.0,
        **asked(scheme),
    }
    return Case(known | ({"params_total": shape.params_total} if stored else {}), total)


@counts(f.WEIGHT_BYTES, by="enumerated")
def weight_bytes(rng: random.Random) -> Case:
    return by_tensor(rng, stored=False)


@counts(f.STORED_BYTES, by="enumerated")
def stored_bytes(rng: random.Random) -> Case:
    return by_tensor(rng, stored=True)


@counts(f.HELD_BYTES, by="enumerated")
def held_bytes(rng: random.Random) -> Case:
    """Request by request, the larger of two needs at the end."""
    stored = by_tensor(rng, stored=True)
    load = {"batch": rng.randint(1, 600), "context": rng.randint(0, 3000)}
    sizes = {
        "token_space_bytes": rng.randint(0, 10**9),
        "library_bytes": rng.randint(0, 10**8),
        "slot_bytes": rng.randint(0, 10**7),
        "kv_bytes_per_token": rng.randint(1, 10**5),
    }
    slots, caches = sizes["library_bytes"], 0
    for _ in range(load["batch"]):
        slots += sizes["slot_bytes"]
        caches += load["context"] * sizes["kv_bytes_per_token"]
    space = max(slots, sizes["token_space_bytes"])
    return Case({**stored.values, **sizes, **load}, stored.counted + space + caches)


def machine(rng: random.Random) -> dict[str, float]:
    """A made-up load, and shares that a machine reaches."""
    return {
        "batch": float(rng.choice((1, 3, 64, 700))),
        "context": float(rng.choice((0, 10, 3000))),
        "peak_exponent": rng.choice((0.5, 1.0)),
        "overlap": rng.choice((0.0, 0.5, 1.0)),
        "overhead_s": rng.random() * 1e-2,
        "request_s": rng.random() * 1e-4,
    }


def engine(known: dict[str, float], *, low: bool = True) -> IterationCost:
    """The engine's cost on the datasheet, weights and arithmetic in FP8 if ``low``."""
    precision = "fp8" if low else "bf16"
    cost = IterationCost.of(
        SHAPES[0],
        GPU,
        precision=precision,
        precision_exponent=known["peak_exponent"],
        overlap=known["overlap"],
        overhead_s=known["overhead_s"],
        request_s=known["request_s"],
        attention_apart=True,
    )
    wide = IterationCost.of(SHAPES[0], GPU)
    head = SHAPES[0].vocab * SHAPES[0].d_model
    head_s = head / float(GPU.hbm_bw)  # a byte more each
    slower_s = 2 * head * (1 / PEAKS["bf16"] - cost.row_s / wide.row_s / PEAKS["bf16"])
    return replace(
        cost,
        pair_s=wide.pair_s,
        kv_token_s=wide.kv_token_s,
        row_s=cost.row_s + (slower_s if low else 0),
        weights_s=cost.weights_s + (head_s if low else 0),
    )


def load(known: dict[str, float]) -> IterationLoad:
    one = IterationLoad.of(chunk=1, context=int(known["context"]))
    return one.times(int(known["batch"]))


def values(known: dict[str, float]) -> dict[str, float]:
    """Everything that the formulas may ask about this load."""
    shape = SHAPES[0]
    return known | {
        "chunk": 1.0,
        "eff_compute": 1.0,
        "eff_mem": 1.0,
        "peak_flops": PEAKS["bf16"],
        "low_peak_flops": PEAKS["fp8"],
        "hbm_bw": float(GPU.hbm_bw),
        "params_active": shape.params_active,
        "params_read": shape.params_read,
        "params_head": shape.vocab * shape.d_model,
        "bytes_weight": 2.0,
        "code_bits": 8.0,
        "scale_bits": 0.0,
        "group_size": 1.0,
        "kv_bytes_per_token": shape.kv_bytes_per_token(2.0),
        "attn_flops_per_pair": shape.attn_flops_per_pair(),
    }


@counts(f.LINEAR_S, by="executed")
def linear_s(rng: random.Random) -> Case:
    known = machine(rng)
    seconds = load(known).rows * engine(known).row_s
    return Case(f.LINEAR_S.given(values(known)), seconds)


@counts(f.WEIGHTS_S, by="executed")
def weights_s(rng: random.Random) -> Case:
    known = machine(rng)
    return Case(f.WEIGHTS_S.given(values(known)), engine(known).read_s(1))


@counts(f.PAIRS_S, by="executed")
def pairs_s(rng: random.Random) -> Case:
    known = machine(rng)
    seconds = load(known).pairs * engine(known).pair_s
    return Case(f.PAIRS_S.given(values(known)), seconds)


@counts(f.PRODUCTS_S, by="executed")
def products_s(rng: random.Random) -> Case:
    """A step with nothing in the cache, less what is not the products."""
    known = machine(rng) | {"context": 0.0}
    one, cost = load(known), engine(known)
    rest = one.pairs * cost.pair_s + cost.host_s(one) + cost.fixed_s(one.rows)
    given = f.PRODUCTS_S.given(values(known))
    return Case(given, cost.seconds(one) - rest)


@counts(f.FEW_BITS_STEP_S, by="executed")
def few_bits_step_s(rng: random.Random) -> Case:
    known = machine(rng)
    return Case(
        f.FEW_BITS_STEP_S.given(values(known)), engine(known).seconds(load(known))
    )


@counts(f.FEW_BITS_GAIN, by="executed")
def few_bits_gain(rng: random.Random) -> Case:
    known = machine(rng)
    wide = engine(known, low=False).seconds(load(known))
    given = f.FEW_BITS_GAIN.given(values(known) | {"wide_step_s": wide})
    return Case(given, wide / engine(known).seconds(load(known)))
