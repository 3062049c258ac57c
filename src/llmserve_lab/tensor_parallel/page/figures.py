"""The chapter's live figures: what an iteration takes, and an all-reduce."""

from __future__ import annotations

from collections.abc import Mapping

from llmserve_lab import running_example
from llmserve_lab.catalog import Given
from llmserve_lab.collectives import calibration
from llmserve_lab.collectives import formulas as wires
from llmserve_lab.collectives.calibration import FittedReduce
from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.notation import quantity
from llmserve_lab.page.banded import BandTable, banded
from llmserve_lab.page.live.controls import Choice, Slider
from llmserve_lab.page.live.figure import LiveFigure
from llmserve_lab.page.live.goal import Goal
from llmserve_lab.page.live.readout import Bound, Readout, Verdict
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.arguments import (
    CHOSEN_MACHINES,
    CHOSEN_MODELS,
    DEVICE,
    MODEL,
    all_reduce_times,
    fitted,
    on,
    sizes_of,
)
from llmserve_lab.tensor_parallel.page import charts

STOPS = {
    "batch": tuple(2.0**i for i in range(9)),
    "chunk": tuple(2.0**i for i in range(14)),
    "context": (0.0, 1000.0, *(2.0**i for i in range(11, 18))),
    "n_ranks": tuple(map(float, charts.DEGREES[1:])),
}
FITS = ("it fits", "it does not fit")
TARGET_S, LEAST, LONG = 0.032, 128, 8192
GROUP = "GPUs in the group"
LARGE = (4.0, 8.0)  # on two GPUs a ring and one shot send the same
TENSORS = tuple(2.0**i for i in range(13))  # token vectors: up to 64 MiB


def _slider(name: str, default: float, label: str = "") -> Slider:
    return Slider(quantity(name), STOPS[name], default, label)


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
    """Choices of model and accelerator; the fitted constants go with both."""
    models = {
        each.name: {
            **sizes_of(each),
            **fitted(),
            "chunk": 1.0,
            "launches": 1.0,
        }
        for each in CHOSEN_MODELS
    }
    machines = {each.name: on(each) for each in CHOSEN_MACHINES}
    return (
        _choice("model", "Model", models, MODEL.name),
        _choice("accelerator", "Accelerator", machines, DEVICE.name),
    )


def _band(*, n_ranks: float, batch: float, model: str) -> Band | Unmeasured:
    """How far off such decode steps were, for the book's usual request on H100s."""
    (key,) = (each.key for each in CHOSEN_MODELS if each.name == model)
    return running_example.band(
        "decode_step", clients=int(batch), tp=int(n_ranks), model_key=key
    )


BAND = BandTable(_band, ("n_ranks", "batch", "model"))
PART = Unmeasured("a part of an iteration, of which only the whole was measured", True)


def _fastest_band(*, n_ranks: float, batch: float, model: str) -> Band | Unmeasured:
    """How far off the fastest way was, for the vectors of so many decodes."""
    (shape,) = (each for each in CHOSEN_MODELS if each.name == model)
    nbytes = batch * shape.d_model * float(sizes_of(shape)["bytes_act"])
    times = all_reduce_times(n_ranks, nbytes)
    fastest = min(KINDS, key=times.__getitem__)
    return KINDS[fastest]().band(int(n_ranks), nbytes)


KINDS = {
    "all_reduce_s": calibration.nccl,
    "one_shot_s": calibration.one_shot,
    "in_switch_s": calibration.in_switch,
}
WAYS = {
    "one_shot_s": "One-shot",
    "in_switch_s": "In-switch",
    "all_reduce_s": "NCCL all-reduce",
}
FASTEST = BandTable(_fastest_band, ("n_ranks", "batch", "model"))


def _reduced(kind: FittedReduce) -> BandTable:
    """How far off all-reduces of this kind were, on as many GPUs, of such a size."""
    sizes = sizes_of(MODEL)
    vector = float(sizes["d_model"]) * float(sizes["bytes_act"])

    def found(*, n_ranks: float, n_rows: float) -> Band | Unmeasured:
        return kind.band(int(n_ranks), n_rows * vector)

    return BandTable(found, ("n_ranks", "n_rows"))


def _derived() -> dict[str, Bound]:
    """Rows of decodes, an all-reduce of them each way, and all of an iteration."""
    return {
        "hidden_bytes": Bound(f.HIDDEN_BYTES),
        **charts.ways("n_ranks", "hidden_bytes"),
        "fastest_s": Bound(wires.FASTEST_S),
        "rank_bytes": Bound(f.RANK_BYTES),
    }


def tp_time() -> LiveFigure:
    """Time of an iteration against the degree, and what of it the GPUs share."""
    return LiveFigure(
        name="tp-time",
        title="The work is shared out; the fixed time of the layers is not",
        chart=charts.tp_time,
        controls=(
            _slider("n_ranks", 4.0, GROUP),
            _slider("batch", 1.0, "Requests in the batch"),
            _slider("context", 1000.0, "Tokens in each cache"),
            *_hardware(),
        ),
        derived=_derived() | {"tp_speedup": Bound(f.TP_SPEEDUP)},
        readouts=(
            banded(Readout(f.TP_S, "Iteration"), BAND),
            banded(Readout(f.RANK_S, "Work of each GPU"), PART),
            banded(Readout(f.LINK_S, "All-reduces"), FASTEST),
            Verdict("fits", "In its memory", "rank_bytes", "hbm_bytes", FITS),
        ),
        sentence=(
            "{model} on {n_ranks} × {accelerator} (the framed bar): {batch} with "
            "{context} in cache each get a token every {tp_s}. The work of each GPU "
            "takes {rank_s}, all all-reduces {link_s}. That is {tp_speedup} times "
            "as fast as one GPU with enough memory would be. Each GPU holds "
            "{rank_bytes} of weights and cache: {fits}. A dashed outline has no room."
        ),
        goal=Goal(
            f"Llama-3.1-70B for {LEAST} requests or more with {LONG:,} tokens or more "
            f"in each cache: at most {1e3 * TARGET_S:.0f} ms per token, and room in "
            "memory",
            lambda model, batch, context, tp_s, rank_bytes, hbm_bytes: (
                (model > 0)
                & (model < 2)
                & (batch >= LEAST)
                & (context >= LONG)
                & (tp_s <= TARGET_S)
                & (rank_bytes < hbm_bytes)
            ),
            {"n_ranks": 8.0, "batch": 128.0, "context": 8192.0},
        ),
    )


def all_reduce() -> LiveFigure:
    """One all-reduce by four ways against its size, with what an engine took."""
    size = {name: sizes_of(MODEL)[name] for name in ("d_model", "bytes_act")}
    return LiveFigure(
        name="all-reduce",
        title="One shot is fastest for small tensors, the switch for large ones",
        chart=charts.all_reduce,
        controls=(
            Slider(quantity("n_ranks"), LARGE, 8.0, GROUP),
            Slider(quantity("n_rows"), TENSORS, 1.0, "Tokens in the iteration"),
        ),
        derived={
            "hidden_bytes": Bound(f.HIDDEN_BYTES, n_rows="n_rows", **size),
            **charts.ways("n_ranks", "hidden_bytes"),
        },
        readouts=tuple(
            banded(Readout(way, called), _reduced(KINDS[way]()))
            for way, called in WAYS.items()
        ),
        sentence=(
            "{n_rows} of Llama-3.1-70B: vectors of {hidden_bytes}. To add it up on "
            "{n_ranks} × H100 takes {one_shot_s} in one shot, {in_switch_s} in the "
            "switch and {all_reduce_s} by NCCL. Dotted verticals: sizes at which vLLM "
            "0.33.0 without FlashInfer changes from one way to the next."
        ),
    )
