"""Tables of the taught page: GPUs by kind, and the best split on GPUs one can rent."""

from __future__ import annotations

from functools import cache
from itertools import product
from statistics import NormalDist

from llmserve_lab.afd import coupled, deployment
from llmserve_lab.afd.page.comparison import (
    COPIES,
    DEVICES,
    GPUS,
    LOOSE_S,
    PART,
    TIGHT_S,
    best,
    errors,
    lead,
    whole,
)
from llmserve_lab.catalog import accelerator
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.deepseek.evaluation.predictions import Point, points
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.page.table import Table

GB, US = 1e9, 1e6
SPENT = (
    "attention",
    "FFN",
    "waits: network",
    "waits: other kind",
    "other layers, host",
)
NEVER = Unmeasured("no split of this model on these GPUs was measured, that we know")


def group_band(gpu: str, batch: float) -> Band | Unmeasured:
    """How far off the twin is for one group of 96 GPUs: errors of a step's time."""
    known = DecodeSetting(
        accelerator=gpu, ep=GPUS, batch=batch, context=coupled.CONTEXT
    )
    return band("decode_step", known)


@cache
def ratio_range(gpu: str, tpot_s: float) -> tuple[float, float]:
    """Best ratios if attention's time, or the FFN's, is as far off as steps were.

    Raises:
        ValueError: no run alike was measured.
    """
    off = group_band(gpu, whole(gpu, tpot_s).batch)
    if not isinstance(off, Band):
        raise ValueError(f"gpu must have measured runs alike, got {gpu}")
    factors = [1 / (1 + error) for error in (off.low, off.high)]
    found = [
        deployment.best_split(
            gpu,
            GPUS,
            tpot_s,
            copies=COPIES,
            attn_factor=factor if which else 1.0,
            ffn_factor=1.0 if which else factor,
        ).ratio
        for factor, which in product(factors, (True, False))
    ]
    own = best(gpu, tpot_s).ratio
    return min(*found, own), max(*found, own)


@cache
def profile() -> Point:
    """DeepSeek's own profile of a decode step, and what the twin says of it."""
    every = points(book_assumptions())
    return next(each for each in every if "profile, EP128" in each.record.name)


def profile_tpot_s() -> float:
    """Seconds per token in that profile: requests of a GPU over what it makes.

    Raises:
        ValueError: the profile is not one of decode.
    """
    seen = profile()
    if seen.batch is None:
        raise ValueError(f"the profile must be of decode, got {seen.name}")
    return seen.batch / seen.measured


def profile_as_run() -> float:
    """Tokens/s of a GPU that the model of a group gives for it, at that time."""
    seen = profile()
    (off,) = (each for each in errors("free") if each.run == seen.record.name)
    return seen.measured * (1 + off.at_speed)


def each_at_median(n: int) -> tuple[float, float]:
    """Where each of n normal times is when the slowest is at its median.

    The chance to be below it, and its standard deviations above the mean.
    """
    chance = 0.5 ** (1 / n)
    return chance, NormalDist().inv_cdf(chance)


def instances_table(gpu: str = DEVICES[0]) -> Table:
    """Table of what a GPU of either kind holds, in the best split at 50 ms."""
    split = best(gpu, TIGHT_S)
    room = coupled.group(gpu, split.n_ffn).room_bytes() / GB
    attn, ffn = (
        deployment.attn_bytes(gpu) / GB,
        deployment.ffn_bytes(gpu, split.n_ffn) / GB,
    )
    fits = deployment.attn_fits(gpu)
    held = split.n_batches * split.batch_at(TIGHT_S)
    each = coupled.group(gpu, split.n_ffn).setup.local_experts(0)
    what = "attention, dense layers, vocabulary"
    rows = (
        ("weights", what, f"{each} experts a layer, shared expert"),
        ("their size", f"{attn:.1f} GB", f"{ffn:.1f} GB"),
        ("memory to use", f"{room:.0f} GB", f"{room:.0f} GB"),
        ("requests' caches", f"{held} held, {fits} fit", "none"),
        ("price", "1", "1"),
    )
    caption = f"One instance is one {accelerator(gpu).name}: {split.name}"
    columns = ("holds", "Attention GPU", "FFN GPU")
    return Table(caption, columns, rows)


def reached(gpu: str, tpot_s: float) -> tuple[float, float, float]:
    """Seconds per token that the best split reaches, its rate, and those of the group.

    Where memory is full before the target, a token takes less than the target allows.
    """
    split = best(gpu, tpot_s)
    own = float(split.tpot_s(split.batch_at(tpot_s)))
    one = whole(gpu, tpot_s)
    return own, split.gpu_tokens_per_s(tpot_s), one.batch / one.gpu_tokens_per_s


def account(gpu: str, tpot_s: float) -> dict[str, tuple[float, float, float]]:
    """Microseconds of GPU time for one token: one batch, two halves, the best split.

    Overlap is free on both sides, so nothing that is hidden stands in it.
    """
    found = [_group_account(gpu, tpot_s, halves=halves) for halves in (False, True)]
    found.append(_split_account(best(gpu, tpot_s), tpot_s))
    return dict(zip(SPENT, zip(*found, strict=True), strict=True))


def account_table(gpu: str = DEVICES[0]) -> Table:
    """Table of the GPU time of one token, by what it is spent on."""
    spent = account(gpu, TIGHT_S)
    totals = map(sum, zip(*spent.values(), strict=True))
    rows = [
        (what, *(f"{each:.0f}" for each in row))
        for what, row in (*spent.items(), ("sum", totals))
    ]
    columns = ("µs", "group, one batch", "group, two halves", "best split")
    return Table("GPU time of one token at 50 ms", columns, rows, band=NEVER)


def _group_account(gpu: str, tpot_s: float, *, halves: bool) -> tuple[float, ...]:
    """Of one group: each part of a batch, over the requests of a batch."""
    one = coupled.arranged(gpu, GPUS, tpot_s, halves=halves, copies=COPIES)
    twin = coupled.group(gpu, GPUS, one.overlap)
    known = twin.arguments(batch=one.batch, context=coupled.CONTEXT)
    known["dispatched_copies"] = coupled.copies_of_row(twin, COPIES)
    each = twin.n_batches / one.batch * US
    block = {k: float(v) * each for k, v in twin.blocks_of(known).items()}
    parts = (
        block["mla_s"] + block["attn_elementwise_s"],
        block["experts_s"] + block["moe_elementwise_s"],
    )
    rest = block["other_s"] + block["host_s"] / twin.n_batches
    waited = 1e6 / one.gpu_tokens_per_s - sum(parts) - rest
    return (*parts, waited, 0.0, rest)


def _split_account(split: deployment.Split, tpot_s: float) -> tuple[float, ...]:
    """The same of a split; what its GPUs do not work, they wait for each other."""
    batch, twin = split.batch_at(tpot_s), coupled.group(split.gpu, split.n_ffn)
    part = {name: float(value) for name, value in split.layer_s(batch).items()}
    layers, gpus = twin.setup.model.n_layers, split.n_attn + split.n_ffn
    sparse = layers - twin.setup.experts.n_dense_layers
    tokens = split.n_attn * split.n_batches * batch
    each = split.n_batches * US / tokens  # of one batch's seconds on one GPU
    attn = split.n_attn * layers * part["attn"] * each
    ffn = split.n_ffn * sparse * part["ffn"] * each
    host = gpus * twin.assumptions.host_s * US / tokens
    rest = split.n_attn * part["rest"] * each + host
    total = gpus * float(split.tpot_s(batch)) * US / tokens
    longest = max(part["attn"], part["ffn"])
    wire = gpus * sparse * (float(split.period_s(batch)) - longest) * each
    return attn, ffn, wire, total - attn - ffn - wire - rest, rest


def unequal(gpu: str, tpot_s: float) -> tuple[float, float]:
    """Microseconds of a token in which a split's GPUs wait for the other kind.

    Because the kinds take unequally long, and because FFN GPUs have nothing to do in
    the layers without experts and in the LM head.
    """
    split = best(gpu, tpot_s)
    batch, twin = split.batch_at(tpot_s), coupled.group(gpu, split.n_ffn)
    part = {name: float(value) for name, value in split.layer_s(batch).items()}
    layers = twin.setup.model.n_layers
    dense = twin.setup.experts.n_dense_layers
    each = US / (split.n_attn * batch)
    longest = max(part["attn"], part["ffn"])
    attn, ffn = split.n_attn * part["attn"], split.n_ffn * part["ffn"]
    late = (split.n_attn + split.n_ffn) * longest - attn - ffn
    idle = split.n_ffn * (dense * part["attn"] + part["rest"])
    return (layers - dense) * late * each, idle * each


def ratios_table() -> Table:
    """Table of the best split and its ratio on three GPUs, beside one group."""
    rows: list[tuple[str, ...]] = []
    for gpu, target in product(DEVICES, (TIGHT_S, LOOSE_S)):
        most = best(gpu, target)
        low, high = ratio_range(gpu, target)
        split_s, split_rate, group_s = reached(gpu, target)
        group_rate = whole(gpu, target).gpu_tokens_per_s
        rows.append(
            (
                f"{accelerator(gpu).name}, {1e3 * target:.0f} ms",
                f"{lead(gpu, target):+.0%}".replace("-", "−"),
                f"{split_rate:,.0f} ({1e3 * split_s:.0f} ms)",
                f"{group_rate:,.0f} ({1e3 * group_s:.0f} ms)",
                most.name,
                f"{most.ratio:.2f}",
                f"{low:.2f}–{high:.2f}",
            )
        )
    columns = ("GPU, target", "gain", "split", "group", "best", "r*", "r* if off")
    notes = (
        "DeepSeek-V3, 96 GPUs, contexts of 4,096 tokens. Rates in tokens/s of a GPU; "
        "in brackets the time per token reached: below the target, memory is full.",
        "r*: the best ratio. If off: the best ratio if the time of attention, or of "
        "the FFN, were as far off as decode steps of the twin were on measured runs; "
        "overlap is free. FFN GPUs come by the node of eight, so 0.71 (40A–56F) is "
        "followed by 1.00 (48A–48F) and 1.40 (56A–40F).",
    )
    caption = "The best split of 96 GPUs"
    return Table(caption, columns, rows, notes=notes)


def layer_table(gpu: str = DEVICES[0]) -> Table:
    """Table of one layer's times in the best splits at 50 ms."""
    rows = []
    for each in DEVICES:
        split = best(each, TIGHT_S)
        batch = split.batch_at(TIGHT_S)
        part = {k: float(v) * 1e6 for k, v in split.layer_s(batch).items()}
        rows.append(
            (
                accelerator(each).name,
                split.name,
                f"{batch}",
                f"{split.n_batches}",
                *(f"{part[name]:.0f} µs" for name in ("attn", "ffn", "wire")),
                f"{max(part['out'], part['back']):.0f} µs",
                f"{1e6 * float(split.period_s(batch)):.0f} µs",
            )
        )
    columns = (
        *("GPU", "split", "B", "m", "Attention", "FFN", "wire", "port, one way"),
        "period",
    )
    note = (
        "period: the longest of attention, FFN, the busiest port one way, and the sum "
        "of attention, FFN and wire over m"
    )
    caption = "One layer, at 50 ms per token"
    return Table(caption, columns, rows, notes=(note,), band=PART)
