"""The chapter's numbers as a reader computes them by hand, and where they are from."""

from __future__ import annotations

from llmserve_lab.cluster import calibration
from llmserve_lab.cluster.calibration import FittedReduce
from llmserve_lab.formula.band import Unmeasured
from llmserve_lab.page import engines
from llmserve_lab.roofline.formulas import WEIGHTS_S
from llmserve_lab.running_example import PROMPT, band
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.arguments import (
    DEFAULT,
    DEVICE,
    MODEL,
    all_reduce_times,
    served,
)

VLLM = engines.VERSION
# vllm/distributed/device_communicators/all_reduce_utils.py, for compute capability 9.0
VLLM_ONE_SHOT_KIB, VLLM_SWITCH_MIB = 256, 64
WAYS = {
    "ring": calibration.ring,
    "one-shot": calibration.one_shot,
    "in-switch": calibration.in_switch,
}
MICRO, GIGA, MILLI = 1e-6, 1e9, 1e-3


def load(batch: float = 1.0) -> dict[str, float]:
    """Decodes with the book's usual prompt in their caches."""
    return {"batch": batch, "chunk": 1.0, "context": float(PROMPT)}


def iteration_s(n_gpus: float, *, batch: float = 1.0) -> float:
    """Seconds of an iteration of decodes of Llama-3.1-70B on H100s."""
    return float(f.TP_S.at(DEFAULT, load(batch), n_ranks=float(n_gpus)))


def work_s(n_gpus: float, *, batch: float = 1.0) -> float:
    """Seconds of it that are the work of each GPU."""
    return float(f.RANK_S.at(DEFAULT, load(batch), n_ranks=float(n_gpus)))


def reduces_s(n_gpus: float, *, rows: float = 1.0, way: str = "fastest_s") -> float:
    """Seconds of all all-reduces of an iteration with so many rows."""
    one = all_reduce_times(n_gpus, rows * row_bytes())[way]
    return float(f.LINK_S.at(DEFAULT, fastest_s=one))


def prefill_s(n_gpus: float) -> float:
    """Seconds of an iteration that reads the book's usual prompt."""
    known = served(MODEL, DEVICE, launches=4.0)
    size = {"batch": 1.0, "chunk": float(PROMPT), "context": 0.0}
    return float(f.TP_S.at(known, size, n_ranks=float(n_gpus)))


def row_bytes() -> float:
    """Bytes of a row of Llama-3.1-70B in 16 bits."""
    return float(f.HIDDEN_BYTES.at(DEFAULT, batch=1.0, chunk=1.0))


def per_byte_s(kind: FittedReduce) -> float:
    """Seconds for each byte that goes over the link."""
    known = kind.known()
    return 1 / (float(known["link_bw"]) * float(known["eff_link"]))


def line(way: str, ranks: int = 8) -> str:
    """The straight line of one-shot or in-switch on so many GPUs, as text."""
    kind = WAYS[way]()
    speed = f"{1 / per_byte_s(kind) / GIGA:.0f} GB/s"
    bytes_ = f"{ranks - 1} Q" if way == "one-shot" else "Q"
    return f"{kind.start_s / MICRO:.2f} µs + {bytes_} / ({speed})"


def turn_bytes(ranks: int = 8) -> float:
    """Bytes from which the switch is faster than one shot."""
    shot, switch = calibration.one_shot(), calibration.in_switch()
    slope = (ranks - 1) * per_byte_s(shot) - per_byte_s(switch)
    return (switch.start_s - shot.start_s) / slope


def turn_rows(ranks: int = 8) -> float:
    """The same in rows of Llama-3.1-70B."""
    return turn_bytes(ranks) / row_bytes()


def token(n_gpus: int = 4) -> dict[str, float]:
    """A token on four GPUs in ms, in parts that add up as they are printed."""
    known = DEFAULT | load()
    total = round(iteration_s(n_gpus) / MILLI, 2)
    weights = round(float(WEIGHTS_S.at(known)) / n_gpus / MILLI, 2)
    layers = float(known["n_layers"]) * float(known["layer_s"])
    beside = round(layers / MILLI, 2)
    return {
        "weights": weights,
        "beside": beside,
        "other": round(total - weights - beside, 2),
        "sum": total,
    }


def weights_gb(n_gpus: int = 1) -> float:
    """Weights that are read, in GB, on each of so many GPUs."""
    read = float(DEFAULT["params_read"]) * float(DEFAULT["bytes_weight"])
    return read / GIGA / n_gpus


def stored_bytes() -> float:
    """Weights that are stored."""
    return float(DEFAULT["params_total"]) * float(DEFAULT["bytes_weight"])


def band_text(n_gpus: int, clients: int = 32) -> str:
    """The band of a decode step of Llama-3.1-70B in BF16, as words.

    Raises:
        ValueError: nothing like it was measured.
    """
    found = band("decode_step", clients=clients, tp=n_gpus, model_key=MODEL.key)
    if isinstance(found, Unmeasured):
        raise ValueError(f"clients must be a measured load, got {clients}: {found}")
    return f"{-found.low:.0%} below and {found.high:.0%} above"


def us(seconds: float, digits: int = 1) -> str:
    """Seconds as text in µs, with so many digits behind the point."""
    return f"{seconds / MICRO:.{digits}f} µs"


def ms(seconds: float, digits: int = 0) -> str:
    """Seconds as text in ms, with so many digits behind the point."""
    return f"{seconds / MILLI:.{digits}f} ms"
