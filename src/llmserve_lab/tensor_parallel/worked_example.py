"""The chapter's numbers as a reader computes them by hand, and where they are from."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from llmserve_lab.catalog.evidence.collectives import (
    ENGINE_RUNS,
    NCCL_RUNS,
    AllReduceRun,
)
from llmserve_lab.checks import whole
from llmserve_lab.collectives import calibration
from llmserve_lab.collectives.calibration import FittedReduce
from llmserve_lab.collectives.formulas import GATHER_S
from llmserve_lab.formula.band import Band, per_cent
from llmserve_lab.formula.formula import Formula
from llmserve_lab.page import engines
from llmserve_lab.roofline.formulas import KV_S, WEIGHTS_S
from llmserve_lab.running_example import PROMPT, served_by
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.arguments import (
    BLOCK_TOKENS,
    DEFAULT,
    DEVICE,
    MODEL,
    UTILISATION,
    all_reduce_times,
    reserve_bytes,
    served,
)
from llmserve_lab.tensor_parallel.published import MEASURED, by_degree
from llmserve_lab.validation import dense_rows
from llmserve_lab.validation.constants import record

VLLM = engines.VERSION
WAYS = {
    "NCCL": calibration.nccl,
    "one-shot": calibration.one_shot,
    "two-shot": calibration.two_shot,
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


def prefill_s(
    n_gpus: float, prompt: int = PROMPT, of: Formula = f.TP_S, *, prompts: int = 1
) -> float:
    """Seconds of an iteration that reads so many prompts, or of a part of it."""
    known = served(MODEL, DEVICE, launches=4.0)
    size = {"batch": float(prompts), "chunk": float(prompt), "context": 0.0}
    return float(of.at(known, size, n_ranks=float(n_gpus)))


def ring_part_s(n_gpus: int, rows: int) -> float:
    """Seconds of all all-reduces as the fit counts them: a ring's bytes, no start."""
    known = DEFAULT | {"batch": 1.0, "chunk": float(rows), "n_ranks": float(n_gpus)}
    sent = float(f.PAIRED_BYTES.at(known)) * float(known["n_layers"])
    return sent / (float(known["link_bw"]) * float(known["eff_link"]))


def small_parts(n_gpus: int) -> dict[str, float]:
    """What of a token is neither weights nor the layers' fixed time, in ms."""
    whole(n_gpus=n_gpus)
    known = DEFAULT | load() | {"n_ranks": float(n_gpus)}
    hidden = float(known["overlap"])
    seconds = {
        "arithmetic": (1 - hidden) * float(f.CUT_LINEAR_S.at(known)) / n_gpus,
        "cache": float(KV_S.at(known)) / n_gpus,
        "attention": float(f.CUT_PAIRS_S.at(known)) / n_gpus,
        "request": float(known["request_s"]),
        "bytes": ring_part_s(n_gpus, 1),
    }
    return {name: each / MILLI for name, each in seconds.items()}


def vocabulary_s(n_gpus: int) -> float:
    """Seconds of the two exchanges of a cut vocabulary, one request decoding.

    An all-reduce completes the embedding's vector, an all-gather collects the scores.
    """
    scores = float(MODEL.vocab) * float(DEFAULT["bytes_weight"])
    size = {"n_ranks": float(n_gpus), "tensor_bytes": scores}
    gather = float(GATHER_S.at(calibration.nccl().known(), size))
    return all_reduce_times(n_gpus, row_bytes())["fastest_s"] + gather


def row_bytes() -> float:
    """Bytes of a row of Llama-3.1-70B in 16 bits."""
    return float(f.HIDDEN_BYTES.at(DEFAULT, batch=1.0, chunk=1.0))


def per_byte_s(kind: FittedReduce) -> float:
    """Seconds for each byte that goes over the link."""
    known = kind.known()
    return 1 / (float(known["link_bw"]) * float(known["eff_link"]))


def line(way: str, ranks: int = 8) -> str:
    """The straight line of one-shot, two-shot or in-switch, as text."""
    kind = WAYS[way]()
    speed = f"{1 / per_byte_s(kind) / GIGA:.0f} GB/s"
    two = f"{2 * (ranks - 1) / ranks:g} Q"
    bytes_ = {"one-shot": f"{ranks - 1} Q", "two-shot": two, "in-switch": "Q"}[way]
    return f"{kind.start_s / MICRO:.2f} µs + {bytes_} / ({speed})"


def turn_bytes(ranks: int = 8) -> float:
    """Bytes from which the switch is faster than one shot."""
    shot, switch = calibration.one_shot(), calibration.in_switch()
    slope = (ranks - 1) * per_byte_s(shot) - per_byte_s(switch)
    return (switch.start_s - shot.start_s) / slope


def switch_least_bytes() -> float:
    """The smallest tensor that the switch was measured on."""
    return float(min(run.nbytes for run in calibration.in_switch().runs))


def second_shot_gain(ranks: int = 8) -> tuple[float, float, float]:
    """Two shots on more GPUs than they were measured on, by their fit.

    Returns:
        Bytes from which and up to which they would be the fastest, and by what share.
    """
    whole(first=2, ranks=ranks)
    two, switch = calibration.two_shot(), calibration.in_switch()
    slope = 2 * (ranks - 1) / ranks * per_byte_s(two) - per_byte_s(switch)
    last = (switch.start_s - two.start_s) / slope
    most = all_reduce_times(ranks, turn_bytes(ranks))
    share = 1 - most["two_shot_s"] / most["fastest_s"]
    return second_shot_bytes(ranks), last, share


def turn_rows(ranks: int = 8) -> float:
    """The same in rows of Llama-3.1-70B."""
    return turn_bytes(ranks) / row_bytes()


def second_shot_bytes(ranks: int = 4) -> float:
    """Bytes from which two shots are faster than one."""
    whole(first=2, ranks=ranks)
    shot, two = calibration.one_shot(), calibration.two_shot()
    slope = (ranks - 1) * (per_byte_s(shot) - 2 / ranks * per_byte_s(two))
    return (two.start_s - shot.start_s) / slope


def second_shot_rows(ranks: int = 4) -> float:
    """The same in token vectors of Llama-3.1-70B."""
    return second_shot_bytes(ranks) / row_bytes()


def cached_tokens(n_gpus: int, kept_bytes: float | None = None) -> int:
    """Tokens of cache that Llama-3.1-70B leaves room for on so many H100s.

    Each GPU keeps ``kept_bytes`` beside weights and cache, by default what servers with
    few requests at a time kept in the mean.
    """
    kept = float(reserve_bytes()) if kept_bytes is None else kept_bytes
    blocks = served_by(MODEL, DEVICE, tp=n_gpus).kv_blocks(
        utilisation=UTILISATION, block_tokens=BLOCK_TOKENS, reserved_bytes=kept
    )
    return blocks * BLOCK_TOKENS


def tail_pairs(n_gpus: int = 8) -> tuple[float, float]:
    """The tenth and the ninetieth percentile of measured gains that end there.

    Raises:
        ValueError: none was measured on so many GPUs.
    """
    found = [each.measured for each in by_degree(n_gpus)]
    if not found:
        raise ValueError(f"n_gpus must be a measured number of GPUs, got {n_gpus!r}")
    low, high = np.percentile(found, [10, 90])
    return float(low), float(high)


def served_error(n_gpus: int) -> float:
    """Mean error of the predicted times per token of Llama-70B on so many GPUs.

    Raises:
        ValueError: none was measured on so many GPUs.
    """
    errors = record()["errors"]["tpot"]
    found = [
        error
        for row, error in zip(dense_rows(), errors, strict=True)
        if (row.model, row.tp) == (MEASURED, n_gpus)
    ]
    if not found:
        raise ValueError(f"n_gpus must be a measured number of GPUs, got {n_gpus!r}")
    return float(np.mean(found))


def served_size_error() -> float:
    """Mean size of the errors of all predicted times per token of Llama-70B."""
    pairs = zip(dense_rows(), record()["errors"]["tpot"], strict=True)
    return float(np.mean([abs(e) for row, e in pairs if row.model == MEASURED]))


def measured_nccl_s(n_gpus: int = 8) -> float:
    """Seconds that NCCL was measured to take for the vector of one token."""
    return _measured_s(NCCL_RUNS, n_gpus)


def measured_shot_s(n_gpus: int = 8) -> float:
    """Seconds that vLLM took for it, below the size up to which it takes one shot."""
    return _measured_s(ENGINE_RUNS, n_gpus)


def _measured_s(runs: Iterable[AllReduceRun], n_gpus: int) -> float:
    (found,) = (
        float(run.seconds)
        for run in runs
        if (run.n_gpus, run.nbytes) == (n_gpus, row_bytes())
    )
    return found


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


def eight_bit_ms(n_gpus: int) -> float:
    """By hand: half the bytes of each weight, and the layers' fixed time, in ms."""
    part = token(n_gpus)
    return round(round(part["weights"] / 2, 2) + part["beside"], 2)


def weights_gb(n_gpus: int = 1) -> float:
    """Weights that are read, in GB, on each of so many GPUs."""
    whole(n_gpus=n_gpus)
    read = float(DEFAULT["params_read"]) * float(DEFAULT["bytes_weight"])
    return read / GIGA / n_gpus


def stored_bytes() -> float:
    """Weights that are stored."""
    return float(DEFAULT["params_total"]) * float(DEFAULT["bytes_weight"])


def around(found: Band) -> str:
    """How far below and above the measured the predictions were, as words."""
    below, above = (per_cent(error)[1:] for error in (found.low, found.high))
    return f"{below}% below and {above}% above"


def us(seconds: float, digits: int = 1) -> str:
    """Seconds as text in µs, with so many digits behind the point."""
    return f"{seconds / MICRO:.{digits}f} µs"


def ms(seconds: float, digits: int = 0) -> str:
    """Seconds as text in ms, with so many digits behind the point."""
    return f"{seconds / MILLI:.{digits}f} ms"
