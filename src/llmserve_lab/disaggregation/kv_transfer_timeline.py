"""Layer-wise KV transfer: a layer's cache is sent while the next layer is computed.

The wire is a second worker behind the first: it takes a layer when the layer is made
and the one before it is through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmserve_lab import catalog
from llmserve_lab.checks import at_least, whole
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.formula.text import si
from llmserve_lab.page.palette import BLUE, VERMILLION
from llmserve_lab.page.still import StaticFigure, figure_style
from llmserve_lab.page.table import Table

ROUTES = {
    "in one node": ("nvlink4",),
    "to another, GPUDirect RDMA": ("infiniband-ndr",),
    "to another, by host memory": ("pcie-gen5", "infiniband-ndr", "pcie-gen5"),
}


@dataclass(frozen=True)
class Layer:
    """When a layer's cache was made, when its sending began, and when it was through.

    All in s from the start of the prefill.
    """

    made_s: float
    begun_s: float
    sent_s: float


def hand_over(
    *, n_layers: int, prefill_s: float, transfer_s: float, streamed: bool
) -> tuple[Layer, ...]:
    """Make ``n_layers`` layers in ``prefill_s`` and send them in ``transfer_s``.

    Without ``streamed`` the wire waits until the last layer is made.

    Raises:
        ValueError: there is no layer, or a time is negative.
    """
    whole(n_layers=n_layers)
    at_least("prefill_s", prefill_s, 0)
    at_least("transfer_s", transfer_s, 0)
    found, wire_free_s = [], 0.0 if streamed else prefill_s
    for number in range(1, n_layers + 1):
        made_s = prefill_s * number / n_layers
        begun_s = max(made_s, wire_free_s)
        wire_free_s = begun_s + transfer_s / n_layers
        found.append(Layer(made_s, begun_s, wire_free_s))
    return tuple(found)


def late_s(layers: tuple[Layer, ...]) -> float:
    """What outlasts the prefill, in s."""
    return layers[-1].sent_s - layers[-1].made_s


def routes(known: Mapping[str, float], *, prompt_len: int) -> Table:
    """Table of ways to one cache: each link of a way takes it when the last is done.

    ``known`` holds what ``prefill_s`` asks about model and machine, and κ.
    """
    prefill_s = float(f.PREFILL_S.at(known, prompt_len=prompt_len))
    rows = []
    for name, keys in ROUTES.items():
        hops = [catalog.link(key) for key in keys]
        wires = ({"link_bw": float(hop.bandwidth), "eff_link": 1.0} for hop in hops)
        sent_s = sum(
            float(f.TRANSFER_S.at(known, wire, prompt_len=prompt_len)) for wire in wires
        )
        by = ", ".join(hop.name for hop in hops)
        rows.append((name, by, si(sent_s, "s"), f"{sent_s / prefill_s:.0%}"))
    columns = ("from GPU to GPU", "by", "sent in", "of the prefill")
    return Table(f"A cache of {prompt_len} tokens on its way", columns, rows)


def timeline(
    known: Mapping[str, float], *, prompt_len: int, links: Sequence[str]
) -> StaticFigure:
    """Making above, sending below, over links by key: in one block, and by layers.

    ``known`` holds what ``prefill_s`` asks about model and machine, κ and the layers.
    """
    from llmserve_lab.extras import pyplot as plt

    prefill_s = float(f.PREFILL_S.at(known, prompt_len=prompt_len))
    with figure_style():
        figure, axes = plt.subplots(figsize=(5.6, 2.6))
        names: list[str] = []
        said: list[str] = []
        for link in map(catalog.link, links):
            wire = {"link_bw": float(link.bandwidth), "eff_link": 1.0}
            for streamed in (False, True):
                layers = hand_over(
                    n_layers=int(known["n_layers"]),
                    prefill_s=prefill_s,
                    transfer_s=f.TRANSFER_S.at(known, wire, prompt_len=prompt_len),
                    streamed=streamed,
                )
                _row(axes, len(names), layers, VERMILLION.light, BLUE.light)
                how = "by layers" if streamed else "at the end"
                names.append(f"{link.name.removeprefix('InfiniBand ')}, {how}")
                said.append(f"{names[-1]} {si(late_s(layers), 's')}")
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.set_xlabel("time (ms)")
        axes.grid(axis="y", visible=False)
        return StaticFigure.of(
            figure,
            name="disaggregation.timeline",
            title="Sent while it is made, the cache arrives with the last layer",
            sentence=f"A prefill of {si(prefill_s, 's')} above, its cache on the wire "
            f"below. What outlasts the prefill: {'; '.join(said)}.",
        )


def _row(axes: Any, place: int, layers: tuple[Layer, ...], *inks: str) -> None:
    """One bar of making, above those of sending; what touches is one bar."""
    end_s = 1e3 * layers[-1].made_s
    axes.broken_barh([(0, end_s)], (place - 0.36, 0.34), color=inks[0])
    bars: list[list[float]] = []
    for layer in layers:
        if bars and layer.begun_s <= bars[-1][1]:
            bars[-1][1] = layer.sent_s
        else:
            bars.append([layer.begun_s, layer.sent_s])
    sending = [(1e3 * begun, 1e3 * (sent - begun)) for begun, sent in bars]
    axes.broken_barh(sending, (place + 0.02, 0.34), color=inks[1])
