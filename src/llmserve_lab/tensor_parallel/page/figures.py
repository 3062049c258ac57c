"""The chapter's live figures: what ranks hold, what they send, and when it pays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmserve_lab.catalog import Given, machine, wire
from llmserve_lab.notation import quantity
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.readout import Readout, Verdict
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.arguments import (
    CHOSEN_LINKS,
    CHOSEN_MACHINES,
    CHOSEN_MODELS,
    sizes_of,
)
from llmserve_lab.tensor_parallel.block import STRATEGIES
from llmserve_lab.tensor_parallel.page import block_chart, charts

STOPS = {
    "batch": tuple(2.0**i for i in range(13)),
    "chunk": (1.0, 16.0, 128.0, 512.0, 2048.0),
    "context": (0.0, *(2.0**i for i in range(9, 18))),
    "n_ranks": tuple(map(float, charts.DEGREES)),
}
FITS = ("it fits", "it does not fit")
WORK = ("the ranks' own work", "communication")


def _slider(name: str, default: float) -> Slider:
    return Slider(quantity(name), STOPS[name], default)


def _choice(
    name: str, label: str, settings: Mapping[str, Mapping[str, Given]], default: str
) -> Choice:
    """A choice whose options each give a number to the same signals."""
    signals = next(iter(settings.values()))
    columns = {
        signal: tuple(each[signal] for each in settings.values()) for signal in signals
    }
    return Choice(name, label, tuple(settings), default, columns)


def _hardware() -> tuple[Choice, ...]:
    """Choices of model, accelerator and link."""
    models = {each.name: sizes_of(each) for each in CHOSEN_MODELS}
    machines = {each.name: machine(each) for each in CHOSEN_MACHINES}
    links = {each.name: wire(each) for each in CHOSEN_LINKS}
    return (
        _choice("model", "Model", models, "Llama-3-70B"),
        _choice("accelerator", "Accelerator", machines, "H100 SXM"),
        _choice("link", "Link", links, CHOSEN_LINKS[0].name),
    )


def block() -> LiveFigure:
    """The article's block: all steps on one rank, and a chosen one on all of them."""
    size: dict[str, Any] = {
        name: value
        for name, value in sizes_of(article.SHAPE).items()
        if name in ("d_model", "d_ff", "n_heads", "d_head", "bytes_act")
    } | {"batch": 1.0, "chunk": float(article.N_ROWS)}
    sent = {k: size[k] for k in ("d_model", "bytes_act", "batch", "chunk")}
    ranks = {
        f"{tp} rank{'s' if tp > 1 else ''}": {"n_ranks": float(tp)}
        for tp in block_chart.DEGREES
    }
    return LiveFigure(
        name="block",
        title="A then B needs no gather: what A gives is what B takes",
        chart=block_chart.block,
        controls=(
            Choice(
                "strategy",
                "Cut",
                tuple(each.name for each in STRATEGIES.values()),
                "A then B",
            ),
            _choice("tp", "On", ranks, "2 ranks"),
            Choice("step", "Step", block_chart.STEPS, "attention"),
        ),
        readouts=(
            Readout(f.GATHERED_BYTES, "A everywhere: leaves a rank", **size),
            Readout(f.PAIRED_BYTES, "A then B: leaves a rank", **sent),
        ),
        sentence=(
            "The block cut {strategy} on {tp}: shapes on one rank, a star at each "
            "exchange, and below what every rank holds after the {step}. In 16 bits "
            "{gathered_bytes} leave a rank when every matrix is cut by columns, and "
            "{paired_bytes} when columns and rows are paired."
        ),
    )


def tp_time() -> LiveFigure:
    """Time of an iteration against the degree, work and communication told apart."""
    return LiveFigure(
        name="tp-time",
        title="Work shrinks with every rank; waiting for the links does not",
        chart=charts.tp_time,
        controls=(
            _slider("n_ranks", 8.0),
            _slider("batch", 32.0),
            _slider("chunk", 1.0),
            _slider("context", 1024.0),
            *_hardware(),
        ),
        derived={"rank_s": f.RANK_S, "link_s": f.LINK_S, "rank_bytes": f.RANK_BYTES},
        readouts=(
            Readout("rank_s", "A rank's own work"),
            Readout("link_s", "All-reduces"),
            Readout(f.TP_S, "Iteration of the group"),
            Readout(f.LINK_SHARE, "Share of communication"),
            Readout(f.TP_SPEEDUP, "Times as fast as one rank"),
            Verdict("most", "Most of the time goes to", "link_s", "rank_s", WORK),
            Readout("rank_bytes", "A rank holds"),
            Verdict("fits", "In its memory", "rank_bytes", "hbm_bytes", FITS),
        ),
        sentence=(
            "{model} on {n_ranks} × {accelerator} over {link}, {batch} with {context} "
            "in cache and {chunk} new: {rank_s} of work and {link_s} of all-reduces, "
            "{tp_speedup} times as fast as one rank with room for it; most of it is "
            "{most}. A rank holds {rank_bytes}: {fits}."
        ),
    )


def speedup() -> LiveFigure:
    """What each degree gains, while the batch grows from one request to thousands."""
    return LiveFigure(
        name="tp-speedup",
        title="With a small batch, more ranks soon gain nothing",
        chart=charts.speedup,
        controls=(_slider("chunk", 1.0), _slider("context", 1024.0), *_hardware()),
        readouts=tuple(
            Readout(
                f.TP_SPEEDUP,
                f"{g} ranks, {batch:g} request{'s' if batch > 1 else ''}",
                name=f"speedup_{g}_{batch:g}",
                n_ranks=float(g),
                batch=batch,
            )
            for batch in (1.0, 1024.0)
            for g in (8, 16)
        ),
        sentence=(
            "{model} on {accelerator} over {link}, {context} in cache and {chunk} new: "
            "for a batch of one, 8 ranks are {speedup_8_1} and 16 ranks {speedup_16_1} "
            "times as fast as one; for 1,024 they are {speedup_8_1024} and "
            "{speedup_16_1024} times as fast."
        ),
    )
