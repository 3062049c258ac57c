"""What a reader can change: the kind of time, what is left out, terms, a setting."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

from llmserve_lab.how_wrong.record import (
    ALL_SEEN,
    SHEET,
    SWITCHES,
    bias,
    chosen,
    mean_error,
    median_error,
    record,
)
from llmserve_lab.page.live.controls import Choice, Lookup
from llmserve_lab.validation import Band, Setting, band
from llmserve_lab.validation.prediction import Kind

PER_CENT = "%"
QUARTER = 1.25  # times too long or too short: the strip of the figures
KINDS: dict[str, Kind] = {
    "time per output token (TPOT)": "tpot",
    "end-to-end time": "e2e",
    "time to first token (TTFT)": "ttft",
}
LEFT: dict[str, str] = {
    "the model": "model",
    "the GPU": "system",
    "the engine": "engine",
    "nothing (fitted to all rows)": ALL_SEEN,
    "all rows (datasheet, no fit)": SHEET,
}
OFF, ON = "as in the datasheet", "as fitted"
TERMS = dict(
    zip(
        SWITCHES,
        (
            "shares of compute and memory",
            "share of the link",
            "time per layer",
            "time per request",
            "time of the client",
        ),
        strict=True,
    )
)


def kind() -> Choice:
    """Which time is predicted."""
    return Choice("kind", "Time", tuple(KINDS), next(iter(KINDS)))


def left() -> Choice:
    """What the fit has not seen of a row that it predicts."""
    return Choice("left", "Left out", tuple(LEFT), next(iter(LEFT)))


def error_tables() -> tuple[Lookup, ...]:
    """Mean, median and biases of the errors, in per cent, by time and what is left."""
    by = ("kind", "left")
    made = {
        "mean_error": mean_error,
        "median_error": median_error,
        "bias": bias,
        "tensorrt_lean": _leans("trtllm"),
        "vllm_lean": _leans("vllm"),
    }
    return tuple(
        Lookup(name, by, _per_cent(measure), PER_CENT) for name, measure in made.items()
    )


def _per_cent(measure: Any) -> tuple[Any, ...]:
    return tuple(
        tuple(round(100 * measure(kind, left), 1) for left in LEFT.values())
        for kind in KINDS.values()
    )


def _leans(engine: str) -> Callable[[Kind, str], float]:
    """A measure: the bias on the rows of one engine."""

    def lean(kind: Kind, left: str) -> float:
        rows, error = chosen(kind, left)
        return float(error[[row.engine == engine for row in rows]].mean())

    return lean


def switches() -> tuple[Choice, ...]:
    """One choice for each term; all as in the datasheet at first."""
    return tuple(Choice(name, TERMS[name], (OFF, ON), OFF) for name in SWITCHES)


def switch_tables() -> tuple[Lookup, ...]:
    """Mean errors of TPOT and TTFT in per cent, for every setting of the switches."""
    names = tuple(SWITCHES)
    return tuple(
        Lookup(f"{name}_error", names, _nested("", place), PER_CENT)
        for place, name in enumerate(("tpot", "ttft"))
    )


def _nested(on: str, place: int) -> Any:
    if len(on) == len(SWITCHES):
        return round(100 * record()["switches"][on][place], 1)
    return tuple(_nested(on + each, place) for each in "01")


MODELS = {
    "Llama-3.1-8B": "llama-3-8b",
    "Llama-3.1-70B": "llama-3-70b",
    "Llama-3.1-405B": "llama-3.1-405b",
    "DeepSeek-V3 (experts)": "deepseek-v3",
}
GPUS = {"A100": "a100-80-sxm", "H100": "h100-sxm", "B200": "b200-sxm"}
CLIENTS = (1, 4, 16, 32, 64, 128, 256, 1024)
PROMPTS = (256, 1024, 4096, 16_384, 65_536)
DEVICES, ANSWER, PRECISION = 4, 1024, "fp8"


def setting_choices() -> tuple[Choice, ...]:
    """Model, GPU, clients and prompt of a prediction."""
    return (
        Choice("model", "Model", tuple(MODELS), "Llama-3.1-70B"),
        Choice("gpu", "GPU", tuple(GPUS), "H100"),
        Choice("clients", "Clients", tuple(map(str, CLIENTS)), "32"),
        Choice("prompt", "Prompt (tokens)", tuple(f"{p:,}" for p in PROMPTS), "1,024"),
    )


@cache
def bands() -> dict[tuple[int, ...], Band | None]:
    """The band of each setting by its indices, None outside everything measured."""
    found = dict[tuple[int, ...], Band | None]()
    kinds, axes = (*KINDS.values(),), ((*MODELS.values(),), (*GPUS.values(),))
    for at in product(*(range(len(axis)) for axis in (kinds, *axes, CLIENTS, PROMPTS))):
        setting = _setting(
            axes[0][at[1]], axes[1][at[2]], CLIENTS[at[3]], PROMPTS[at[4]]
        )
        answer = band(kinds[at[0]], setting)
        found[at] = answer if isinstance(answer, Band) else None
    return found


def _setting(model: str, gpu: str, clients: int, prompt: int) -> Setting:
    precision = "bf16" if gpu == GPUS["A100"] else PRECISION
    return Setting.on(
        model,
        gpu,
        tp=DEVICES,
        clients=clients,
        prompt_len=prompt,
        output_len=ANSWER,
        precision=precision,
    )


def band_tables() -> tuple[Lookup, ...]:
    """Ends of the band in per cent, 0 where there is none; whether there is none."""
    by = ("kind", "model", "gpu", "clients", "prompt")
    ends: dict[str, Any] = {
        "low": lambda found: round(100 * found.low, 1) if found else 0.0,
        "high": lambda found: round(100 * found.high, 1) if found else 0.0,
        "outside": lambda found: 0.0 if found else 1.0,
    }
    return (
        *(Lookup(name, by, _table(end)) for name, end in ends.items()),
        _constant("half", 0.5),
    )


def _constant(name: str, value: Any) -> Lookup:
    """A table of one number, which no choice leads to."""
    return Lookup(name, (), value)


def _table(end: Any) -> Any:
    sizes = (len(KINDS), len(MODELS), len(GPUS), len(CLIENTS), len(PROMPTS))

    def nested(at: tuple[int, ...]) -> Any:
        if len(at) == len(sizes):
            return end(bands()[at])
        return tuple(nested((*at, i)) for i in range(sizes[len(at)]))

    return nested(())
