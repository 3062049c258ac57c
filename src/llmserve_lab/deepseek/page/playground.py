"""The chapter's bench: any GPUs, either model, any load, every choice within reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.servers import SGLANG_DECODE_SHARE
from llmserve_lab.deepseek import formulas as f
from llmserve_lab.deepseek.calibration.kernel_efficiency import (
    HEADLINES,
    PAPER,
    PEAKS,
    alike,
    measured_kernels,
)
from llmserve_lab.deepseek.defaults import book_assumptions
from llmserve_lab.deepseek.model.assumptions import Kernels
from llmserve_lab.deepseek.model.setup import Setup
from llmserve_lab.deepseek.model.step_model import Twin
from llmserve_lab.deepseek.page.controls import DEVICES, SHAPES
from llmserve_lab.engine import Acceptance
from llmserve_lab.formula.text import plain, si
from llmserve_lab.page.palette import BLUE, GREY
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn

PER_CENT = 100
NETWORKS = {
    catalog.link(key).name: catalog.link(key)
    for key in ("infiniband-ndr", "infiniband-hdr", "roce-400g")
}
MACHINES = {device.name: device for device in DEVICES}
MODELS = {model.name: model for model in SHAPES}
OVERLAPS = {
    "two halves": "halves",
    "one after another": "none",
    "one batch": "hidden",
    "halves that never wait": "ideal halves",
}
KERNELS: dict[str, Callable[[], Kernels]] = {
    "published kernels": measured_kernels,
    "libraries' headlines": lambda: alike(HEADLINES),
    "the paper's factors": lambda: alike(PAPER),
    "all peaks": lambda: alike(PEAKS),
}
NAMES = (
    "attention",
    "attention, elementwise",
    "experts",
    "experts, elementwise",
    "all-to-alls",
    "the rest",
    "host",
)
TERMS = (
    f.ATTN_GEMM_S,
    f.ATTN_KERNEL_S,
    f.EXPERT_READ_S,
    f.EXPERT_COMPUTE_S,
    f.FLIGHT_S,
    f.ALL_TO_ALL_S,
    f.OTHER_S,
)


def bench() -> Bench:
    """A decode step with every setting open; its picture is the state at the start."""
    start = book_assumptions()
    knobs: dict[str, Knob] = {
        "device": Choose("GPU", tuple(MACHINES), "H100 SXM"),
        "n_gpus": Turn("GPUs in the group", 1, 1024, 72),
        "network": Choose("network between nodes", tuple(NETWORKS), *[*NETWORKS][:1]),
        "model": Choose("model", tuple(MODELS), "DeepSeek-V3"),
        "batch": Turn("requests on a GPU", 1, 8192, 128),
        "context": Turn("tokens in cache each", 1, 1_000_000, 4000),
        "overlap": Choose("overlap", tuple(OVERLAPS), "two halves"),
        "kernels": Choose("shares of the peaks", tuple(KERNELS), "published kernels"),
        "balance": Turn(
            "balancedness, in %", 1, PER_CENT, round(PER_CENT * start.balancedness)
        ),
        "n_redundant": Turn("redundant experts", 0, 1024, start.n_redundant),
        "n_draft": Turn("tokens drafted", 0, 8, 0),
        "kept": Turn("each kept if those before it are, in %", 0, PER_CENT, 60),
    }
    given = {name: getattr(knob, "default", "") for name, knob in knobs.items()}
    return Bench("Bench: a decode step of your own", knobs, _show, _picture(**given))


def _twin(**knobs: Any) -> Twin:
    """The twin at these settings."""
    n_draft = knobs["n_draft"]
    assumed = replace(
        book_assumptions(),
        overlap=OVERLAPS[knobs["overlap"]],  # type: ignore[arg-type]
        kernels=KERNELS[knobs["kernels"]](),
        balancedness=knobs["balance"] / PER_CENT,
        n_redundant=knobs["n_redundant"],
        usable_memory=float(SGLANG_DECODE_SHARE),
        n_draft=n_draft,
        accepted=Acceptance(knobs["kept"] / PER_CENT).tokens(n_draft),
    )
    place = Setup(
        accelerator=MACHINES[knobs["device"]],
        n_gpus=knobs["n_gpus"],
        model=MODELS[knobs["model"]],
        far=NETWORKS[knobs["network"]],
    )
    return Twin(setup=place, assumptions=assumed)


@figure_style()
def _picture(**knobs: Any) -> StaticFigure:
    """The parts of a batch in flight one after another, and where the step ends."""
    from llmserve_lab.extras import pyplot as plt

    twin, size = _twin(**knobs), {n: knobs[n] for n in ("batch", "context")}
    blocks = [1e3 * float(value) for value in twin.blocks(**size).values()]
    figure, axes = plt.subplots(figsize=(4.5, 2.2))
    starts = [sum(blocks[:i]) for i in range(len(blocks))]
    step = float(twin.step_s(**size))
    half = twin.n_batches > 1
    axes.barh(NAMES, blocks, left=starts, color=BLUE.light)
    axes.axvline(1e3 * step, color=GREY.light, dashes=(4, 2))
    words = f"step {si(step, 's')}"
    axes.text(1e3 * step, 0, f"{words} ", ha="right", va="center", fontsize=9)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    whose = "one half; two overlap" if half else "the batch"
    axes.set_xlabel(f"parts of {whose} (ms)")
    fits = float(twin.batch_fits(knobs["context"]))
    if knobs["batch"] > fits:
        said = f"only {plain(fits)} fit in memory, so this cannot be"
    else:
        rates = twin.user_tokens_per_s(**size), twin.gpu_tokens_per_s(**size)
        user, gpu = (plain(float(rate)) for rate in rates)
        said = (
            f"a step of {si(step, 's')}, {user} tokens/s for a user, {gpu} from a GPU"
        )
    return StaticFigure.of(
        figure,
        title=f"{twin.setup.name}, {twin.setup.model.name}",
        sentence=(
            f"{knobs['batch']} requests of {knobs['context']} tokens on a GPU: {said}."
        ),
    )


def _show(**knobs: Any) -> str:
    """The picture, whether it fits, and the worked substitution of each term."""
    twin = _twin(**knobs)
    fits = f"<p>In memory fit {plain(float(twin.batch_fits(knobs['context'])))}.</p>"
    known = twin.settled(twin.arguments(batch=knobs["batch"], context=knobs["context"]))
    parts = [_picture(**knobs).html(), fits]
    for term in TERMS:
        asked = {leaf.name for leaf in term.leaves(keep=frozenset(known))}
        values: dict[str, Any] = {n: float(known[n]) for n in sorted(asked)}
        parts.append(f"$${term.worked(**values).latex}$$")
    shown: dict[str, Any] = {
        leaf.name: float(known[leaf.name])
        for leaf in twin.step.leaves(keep=frozenset(known))
    }
    parts.append(f"$${twin.step.worked(**shown).latex}$$")
    return "\n".join(parts)
