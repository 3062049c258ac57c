"""The chapter's live figures: a batch, a group of GPUs, one row, one hot rank."""

from __future__ import annotations

from functools import partial
from typing import Any

from llmserve_lab.catalog import accelerator
from llmserve_lab.moe import exchange_time, layer_time, serving
from llmserve_lab.moe import formulas as f
from llmserve_lab.moe.models import DEFAULT
from llmserve_lab.moe.page import charts, group_charts, route_chart
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import BandTable, banded
from llmserve_lab.page.live.controls import Choice, Lookup, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Verdict

STOPS = {
    "top_k": (1.0, 2.0, 4.0, 6.0, 8.0, 12.0, 16.0),
    "n_experts": (16.0, 32.0, 64.0, 128.0, 256.0, 384.0, 512.0),
    "n_rows": tuple(2.0**i for i in range(13)),
    "reserved_bytes": tuple(1e9 * gb for gb in (5, 10, 15, 20, 30, 40, 50)),
    "gpu_rows": (8.0, 16.0, 32.0, 64.0, 128.0, 160.0),
    "hot_share": (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9),
}
ROW: dict[str, Any] = {"d_model": DEFAULT["d_model"], "bytes_act": DEFAULT["bytes_act"]}
WEIGHTS: dict[str, Any] = {
    name: DEFAULT[name] for name in ("d_model", "d_expert", "ffn_matrices", "n_shared")
}


LABELS = {
    "n_rows": "Tokens in one forward pass",
    "top_k": "Experts of a token",
    "gpu_rows": "Tokens of a GPU's own requests",
    "ep": "GPUs that share the experts",
}


def _slider(name: str, default: float, stops: tuple[float, ...] = ()) -> Slider:
    label = LABELS.get(name, "")
    return Slider(quantity(name), stops or STOPS[name], default, label)


def route() -> LiveFigure:
    """Which experts one row is sent to, on which ranks, by four rules."""
    names = tuple(route_chart.rules())
    words = tuple(f"row {i}" for i in range(1, route_chart.N_ROWS + 1))
    return LiveFigure(
        name="moe-route",
        title="One token goes to few experts, but these lie on most GPUs",
        chart=route_chart.route,
        controls=(
            Choice("row", "Row", words, words[0]),
            Choice("rule", "Chosen by", names, names[1]),
            _slider("top_k", 8.0),
            Lookup("row_copies", ("rule", "row", "top_k"), route_chart.ranks_met()),
        ),
        readouts=(
            Readout("row_copies", "Copies of the row that go out"),
            Readout(
                f.ROW_OUT_BYTES,
                "Bytes of a copy for each rank",
                row_copies="row_copies",
                **ROW,
            ),
            Readout(
                f.ROW_OUT_BYTES,
                "A copy for each expert",
                name="expert_copies_bytes",
                row_copies="top_k",
                **ROW,
            ),
        ),
        sentence=(
            "Of 256 experts on 8 ranks {row} is sent to {top_k}, chosen by {rule}; "
            "they lie on {row_copies} ranks, so that as many copies go out. With "
            "DeepSeek-V3's width in 16 bits the bytes of all copies are "
            "{row_out_bytes} with one for each rank, and {expert_copies_bytes} with "
            "one for each expert."
        ),
    )


def touched() -> LiveFigure:
    """Distinct experts against the batch, for any number of experts and any k."""
    return LiveFigure(
        name="moe-touched",
        title="The larger the batch, the more experts it reads",
        chart=charts.touched,
        controls=(
            _slider("n_rows", 64.0),
            _slider("n_experts", 256.0),
            _slider("top_k", 8.0),
        ),
        derived={"touched_experts": f.TOUCHED_EXPERTS},
        readouts=(
            Readout("touched_experts", "Experts read"),
            Readout(f.ROWS_PER_EXPERT, "Tokens of an expert, mean"),
            Readout(f.READ_RATIO, "Bytes read, times those of one token", **WEIGHTS),
        ),
        sentence=(
            "{n_rows}, each sent to {top_k} of {n_experts} experts, touch "
            "{touched_experts} of them, which are read. With the shared expert and the "
            "router the batch reads {read_ratio} times the bytes that one token alone "
            "would read."
        ),
    )


def memory() -> LiveFigure:
    """Weights of one GPU against the size of the group that shares the experts."""
    devices = [accelerator(key) for key in serving.GPUS]
    names = tuple(device.name for device in devices)
    stored: dict[str, Any] = dict(serving.stored())
    return LiveFigure(
        name="moe-memory",
        title="Experts are shared out, everything else is held by every GPU",
        chart=lambda: group_charts.memory(stored),
        controls=(
            Choice(
                "gpu",
                "GPU",
                names,
                names[0],
                {"engine_bytes": tuple(map(serving.engine_bytes, serving.GPUS))},
            ),
            _slider("ep", 8.0, (4.0, *serving.GROUPS)),
            _slider("reserved_bytes", serving.KEPT_BYTES),
        ),
        derived={
            "gpu_weight_bytes": Bound(f.GPU_WEIGHT_BYTES, ep="ep", **stored),
            "least_ep": Bound(f.LEAST_EP, **stored),
        },
        readouts=(
            Readout("gpu_weight_bytes", "Weights on each GPU"),
            Verdict("holds", "Your group", "ep", "least_ep", ("does not fit", "fits")),
        ),
        sentence=(
            "DeepSeek-V3 in FP8, experts shared by {ep} GPUs of type {gpu}: each holds "
            "{gpu_weight_bytes} of weights, and {reserved_bytes} are kept for caches: "
            "{holds}."
        ),
        goal=Goal(
            "keep 15 GB on each H800, and find the smallest group that fits.",
            lambda gpu, reserved_bytes, ep, least_ep: (
                (gpu < 1)
                & (reserved_bytes > 14e9)
                & (reserved_bytes < 16e9)
                & (ep >= least_ep)
                & (ep < 2 * least_ep)
            ),
            {"ep": 16.0},
        ),
    )


def group() -> LiveFigure:
    """Time of one layer's experts, and of sending, against the size of the group."""
    known: dict[str, Any] = {
        **serving.setting(),
        "copy_start_s": exchange_time.start_s(),
    }
    numbers = {name: float(value) for name, value in known.items()}
    ways, own = serving.copy_bytes(), layer_time.rest_parts_s(1.0)

    def bound(formula: Any, *signals: str, **more: Any) -> Bound:
        return Bound.tied(formula, {**known, **more}, *signals)

    return LiveFigure(
        name="moe-group",
        title="A larger group: less reading, more sending",
        chart=lambda: group_charts.layer_time(numbers, ways, own),
        controls=(
            _slider("ep", 32.0, serving.GROUPS[1:]),
            _slider("gpu_rows", serving.ROWS),
        ),
        derived={
            "n_rows": Bound(f.GROUP_ROWS),
            "rows_per_expert": bound(f.ROWS_PER_EXPERT, "n_rows"),
            "layer_read_s": bound(f.LAYER_READ_S, "n_rows", "ep"),
            "layer_compute_s": bound(f.LAYER_COMPUTE_S, "gpu_rows"),
            **{
                f"{way}_copies_s": bound(
                    f.COPIES_S, "gpu_rows", "ep", one_copy_bytes=size
                )
                for way, size in ways.items()
            },
        },
        readouts=(
            Readout("rows_per_expert", "Tokens of an expert, mean"),
            Verdict(
                "bound",
                "The experts are",
                "layer_read_s",
                "layer_compute_s",
                ("compute-bound", "memory-bound"),
            ),
            *(
                banded(
                    Readout(f"{way}_copies_s", way.capitalize()),
                    BandTable(partial(exchange_time.band, way), ("gpu_rows",)),
                )
                for way in ways
            ),
        ),
        sentence=(
            "Experts shared by {ep} H800, each with {gpu_rows} of its own requests: an "
            "expert gets {rows_per_expert} on average; a GPU reads its experts for "
            "{layer_read_s} and computes for {layer_compute_s}."
        ),
        goal=Goal(
            "with 128 tokens on each GPU, find the smallest group whose experts are "
            "compute-bound.",
            lambda gpu_rows, layer_read_s, layer_compute_s: (
                (gpu_rows > 127)
                & (gpu_rows < 129)
                & (layer_read_s < layer_compute_s)
                & (2 * layer_read_s >= layer_compute_s)
            ),
            {"ep": 64.0},
        ),
    )
