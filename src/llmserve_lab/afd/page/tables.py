"""Tables of the taught page: GPUs by kind, and the best split on GPUs one can rent."""

from __future__ import annotations

from functools import cache
from itertools import product

from llmserve_lab.afd import deployment
from llmserve_lab.catalog import accelerator
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.evaluation.bands import DecodeSetting, band
from llmserve_lab.deepseek.evaluation.predictions import Point, points
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.page.table import Table

DEVICES = ("h100-sxm", "h200-sxm", "b200-sxm")
GPUS, TIGHT_S, LOOSE_S = 96, 0.05, 0.1
GB = 1e9
NEVER = Unmeasured("no server that splits this model in this way has been measured")


@cache
def best(
    gpu: str, tpot_s: float, copies: deployment.Copies = "node"
) -> deployment.Split:
    """The best split of 96 GPUs at a target."""
    return deployment.best_split(gpu, GPUS, tpot_s, copies=copies)


def group_band(gpu: str, batch: float) -> Band | Unmeasured:
    """How far off the twin is for one group of 96 GPUs: errors of a step's time."""
    known = DecodeSetting(
        accelerator=gpu, ep=GPUS, batch=batch, context=deployment.CONTEXT
    )
    return band("decode_step", known)


@cache
def ratio_range(gpu: str, tpot_s: float) -> tuple[float, float]:
    """Best ratios if attention's time, or the FFN's, is as far off as steps were.

    Raises:
        ValueError: no run alike was measured.
    """
    whole = deployment.together(gpu, GPUS, tpot_s, copies="node")
    off = group_band(gpu, whole.batch)
    if not isinstance(off, Band):
        raise ValueError(f"gpu must have measured runs alike, got {gpu}")
    factors = [1 / (1 + error) for error in (off.low, off.high)]
    found = [
        deployment.best_split(
            gpu,
            GPUS,
            tpot_s,
            copies="node",
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


def instances_table(gpu: str = DEVICES[0]) -> Table:
    """Table of what a GPU of either kind holds, in the best split at 50 ms."""
    split = best(gpu, TIGHT_S)
    room = deployment.group(gpu, split.n_ffn).room_bytes() / GB
    attn, ffn = (
        deployment.attn_bytes(gpu) / GB,
        deployment.ffn_bytes(gpu, split.n_ffn) / GB,
    )
    fits = deployment.attn_fits(gpu)
    held = split.n_batches * split.batch_at(TIGHT_S)
    each = deployment.group(gpu, split.n_ffn).setup.local_experts(0)
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


def ratios_table() -> Table:
    """Table of the best split and its ratio on three GPUs, beside one group."""
    rows: list[tuple[str, ...]] = []
    for gpu, target in product(DEVICES, (TIGHT_S, LOOSE_S)):
        split = best(gpu, target)
        low, high = ratio_range(gpu, target)
        rate = split.gpu_tokens_per_s(target)
        whole = deployment.together(gpu, GPUS, target, copies="node")
        rows.append(
            (
                accelerator(gpu).name,
                f"{1e3 * target:.0f} ms",
                split.name,
                f"{split.ratio:.2f}",
                f"{low:.2f}–{high:.2f}",
                f"{rate:,.0f}",
                f"{whole.gpu_tokens_per_s:,.0f}",
                f"{rate / whole.gpu_tokens_per_s - 1:+.0%}".replace("-", "−"),
            )
        )
    columns = ("GPU", "TPOT", "split", "r*", "r* from … to", "split", "group", "gain")
    notes = (
        "DeepSeek-V3, 96 GPUs, contexts of 4,096 tokens. Rates in tokens/s of a GPU.",
        "From … to: r* if the time of attention, or of the FFN, is as far off as the "
        "twin's decode steps were on measured runs alike.",
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
                f"{1e6 * float(split.period_s(batch)):.0f} µs",
            )
        )
    columns = ("GPU", "split", "B", "m", "Attention", "FFN", "wire", "period")
    return Table("One layer, at 50 ms per token", columns, rows)
