"""What a reader can change: the kind of time, what is left out, terms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmserve_lab.how_wrong.record import (
    ALL_SEEN,
    SHEET,
    SWITCHES,
    bias,
    chosen,
    mean_ends,
    mean_error,
    median_error,
    record,
)
from llmserve_lab.page.live.controls import Choice, Lookup
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
    "nothing (in-sample)": ALL_SEEN,
    "all rows (datasheet, no fit)": SHEET,
}
OPENS_WITHOUT = "the engine"  # where the two large engines lie farthest apart
OFF, ON = "as in the datasheet", "as fitted"
TERMS = dict(
    zip(
        SWITCHES,
        (
            "shares of the peaks",
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
    return Choice("left", "Left out", tuple(LEFT), OPENS_WITHOUT)


def error_tables() -> tuple[Lookup, ...]:
    """Mean, median and biases of the errors, in per cent, by time and what is left."""
    by = ("kind", "left")
    made = {
        "mean_error": mean_error,
        "mean_low": lambda kind, left: mean_ends(kind, left)[0],
        "mean_high": lambda kind, left: mean_ends(kind, left)[1],
        "median_error": median_error,
        "all_bias": bias,
        "tensorrt_bias": _leans("trtllm"),
        "vllm_bias": _leans("vllm"),
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
    """One choice for each term; at first what every calculator corrects is on."""
    first = next(iter(SWITCHES))
    return tuple(
        Choice(name, TERMS[name], (OFF, ON), ON if name == first else OFF)
        for name in SWITCHES
    )


def switch_tables() -> tuple[Lookup, ...]:
    """Mean errors of TPOT and TTFT in per cent, for every setting of the switches."""
    names = tuple(SWITCHES)
    places = {"tpot_error": 0, "ttft_error": 1, "tpot_low": 2, "tpot_high": 3}
    places |= {"ttft_low": 4, "ttft_high": 5}
    return tuple(
        Lookup(name, names, _nested("", place), PER_CENT)
        for name, place in places.items()
    )


def _nested(on: str, place: int) -> Any:
    if len(on) == len(SWITCHES):
        return round(100 * record()["switches"][on][place], 1)
    return tuple(_nested(on + each, place) for each in "01")
