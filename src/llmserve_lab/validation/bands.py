"""The error band of a prediction: how far off predictions like it have been.

Of the measured rows, those nearest to a setting are looked up, and the errors that the
model made on them when it had not seen their model. The band is a factor either way,
within which 90 % of them lie, stretched until bands made without a model, an engine or
a GPU hold 90 % of what was left out (:mod:`llmserve_lab.validation.coverage`). A
setting that is far from all rows is outside everything measured, and gets no band.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from llmserve_lab import catalog
from llmserve_lab.checks import key_of, positive, whole
from llmserve_lab.formula.band import Band, Limit, Unmeasured
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.prediction import KINDS, Kind
from llmserve_lab.validation.rows import GENERATIONS, MeasuredRow, dense_rows
from llmserve_lab.validation.unit_work import Floats

NEAREST = 60  # rows
INSIDE = 0.9  # share of the errors that a band is to hold
TAILS = (5.0, 95.0)  # percentiles of the errors with as many between them
FARTHEST = 1.0  # doublings: a setting farther from every row in one number is outside
OTHER_KIND = 1.0  # doublings that another precision or generation counts for


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a prediction is made for: how large, on what, for how many and how long.

    ``params`` are those that a token is multiplied with; ``generation`` is that of the
    devices, ``"Hopper"`` or ``"Blackwell"``, or another, which was not measured.

    Raises:
        ValueError: a number is not positive.
    """

    params: float
    tp: int
    clients: int
    prompt_len: int
    output_len: int
    precision: str
    generation: str
    dense: bool = True

    def __post_init__(self) -> None:
        positive("params", self.params)
        whole(tp=self.tp, clients=self.clients)
        whole(of="token", prompt_len=self.prompt_len, output_len=self.output_len)

    @classmethod
    def of(cls, row: MeasuredRow) -> Setting:
        """The setting of a measured row."""
        return cls(
            params=row.shape.params_active,
            tp=row.tp,
            clients=row.clients,
            prompt_len=row.prompt_len,
            output_len=row.output_len,
            precision=row.precision,
            generation=row.generation,
        )

    @classmethod
    def on(
        cls,
        model: str,
        accelerator: str,
        *,
        tp: int,
        clients: int,
        prompt_len: int,
        output_len: int,
        precision: str,
    ) -> Setting:
        """The setting of a model on an accelerator, by their keys in the catalog.

        Raises:
            LookupError: the catalog has no such record.
        """
        shape, device = catalog.model(model), catalog.accelerator(accelerator)
        return cls(
            params=shape.params_active,
            tp=tp,
            clients=clients,
            prompt_len=prompt_len,
            output_len=output_len,
            precision=precision,
            generation=GENERATIONS.get(device.key, device.name),
            dense=shape.params_active + shape.vocab * shape.d_model
            >= shape.params_total,
        )


Predicted = Literal[
    "ttft", "tpot", "e2e", "decode_step", "tokens_per_s", "user_tokens_per_s"
]
# Clients in a closed loop get tokens at a rate that is one over the end-to-end time, a
# user those after the first at one over TPOT, which lasts as long as a decode step.
TIMES: Mapping[str, Kind] = MappingProxyType(
    {
        **{kind: kind for kind in KINDS},
        "decode_step": "tpot",
        "tokens_per_s": "e2e",
        "user_tokens_per_s": "tpot",
    }
)
HOW = "each predicted by constants fitted without its model; widened to cover"
DATASHEET = Limit(
    "lower", "all of the datasheet is reached, and nothing else takes time"
)


def band(kind: Predicted, setting: Setting) -> Band | Unmeasured:
    """The error band of a prediction of some ``kind`` in some ``setting``.

    Times are ``"ttft"``, ``"tpot"``, ``"e2e"`` and ``"decode_step"`` (of as many
    requests as clients); rates ``"tokens_per_s"`` and ``"user_tokens_per_s"``. The
    predicting machine is the fitted one, :func:`achieved`.

    Raises:
        LookupError: there is no such kind of prediction.
    """
    key_of("kind", kind, TIMES)
    found = _of_time(TIMES[kind], setting)
    return found.inverse() if kind.endswith("_per_s") else found


def datasheet_bound(kind: Predicted) -> Limit:
    """What a prediction with the whole datasheet is instead: a bound of time or rate.

    Raises:
        LookupError: there is no such kind of prediction.
    """
    key_of("kind", kind, TIMES)
    return DATASHEET.inverse() if kind.endswith("_per_s") else DATASHEET


@cache
def _of_time(kind: Kind, setting: Setting) -> Band | Unmeasured:
    if reason := _outside(kind, setting):
        return Unmeasured(reason)
    rows, error, numbers = _known(kind)
    near = nearest(rows, numbers, setting)
    half = stretch(kind) * half_width(error[near])
    low, high = (float(np.expm1(sign * half)) for sign in (-1, 1))
    regime = _regime([rows[place] for place in near])
    return Band(low, high, regime, len(near), HOW)


def spread(kind: Kind, setting: Setting) -> Band | Unmeasured:
    """Where the middle nine tenths of the nearest errors lie, as they were measured.

    It describes those rows and promises nothing about others; :func:`band` does.
    """
    if reason := _outside(kind, setting):
        return Unmeasured(reason)
    rows, error, numbers = _known(kind)
    near = nearest(rows, numbers, setting)
    low, high = (float(each) for each in np.percentile(error[near], TAILS))
    return Band(low, high, _regime([rows[place] for place in near]), len(near))


def stretch(kind: Kind) -> float:
    """How many times wider a band is, in logarithms, than the errors of near rows.

    The smallest tenth with which it covers what was left out; see the record.
    """
    return float(record()["coverage"]["stretch"][kind])


def half_width(error: Floats) -> float:
    """Size of the logarithm of predicted / measured that 90 % of the errors stay below.

    A factor either way, and not two ends: an engine without a measured row may lean to
    the other side.
    """
    return float(np.percentile(np.abs(np.log1p(error)), 100 * INSIDE))


def nearest(
    rows: Sequence[MeasuredRow], numbers: Floats, setting: Setting
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Places of the rows nearest to a setting; ``numbers`` as :func:`logs` has them."""
    return np.argsort(_distance(rows, numbers, setting), kind="stable")[:NEAREST]


LOGS = ("params", "tp", "clients", "prompt_len", "output_len")


@cache
def _known(kind: Kind) -> tuple[tuple[MeasuredRow, ...], Floats, Floats]:
    """Rows that a kind is validated on, their errors, and where they lie."""
    chosen = [
        (row, error)
        for row, error in zip(dense_rows(), record()["errors"][kind], strict=True)
        if row.public or kind != "ttft"
    ]
    rows = tuple(row for row, _ in chosen)
    numbers = np.array([logs(Setting.of(row)) for row in rows])
    return rows, np.array([error for _, error in chosen]), numbers


def logs(setting: Setting) -> list[float]:
    """A setting's numbers, in doublings."""
    return [float(np.log2(getattr(setting, name))) for name in LOGS]


def _distance(rows: Sequence[MeasuredRow], numbers: Floats, setting: Setting) -> Floats:
    """Doublings between the setting and each row, as the crow flies."""
    apart = ((numbers - np.array(logs(setting))) ** 2).sum(axis=1)
    for name in ("precision", "generation"):
        other = [getattr(row, name) != getattr(setting, name) for row in rows]
        apart += OTHER_KIND * np.array(other)
    distance: Floats = np.sqrt(apart)
    return distance


NAMES = {"bf16": "BF16", "fp8": "FP8", "fp4": "FP4"}
# What a setting is, and what the least and the most of the measured rows are.
WORDS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "params": ("a model of {} billion parameters", "smallest", "largest"),
        "tp": ("a group of {} GPUs", "smallest", "largest"),
        "clients": ("{} clients at a time", "fewest", "most"),
        "prompt_len": ("a prompt of {} tokens", "shortest", "longest"),
        "output_len": ("an answer of {} tokens", "shortest", "longest"),
    }
)


def _outside(kind: Kind, setting: Setting) -> str:
    """Why nothing measured of this kind is like it, in words; empty if something is."""
    return "; ".join(_reasons(kind, setting))


def _reasons(kind: Kind, setting: Setting) -> Iterator[str]:
    if not setting.dense:
        yield "a mixture of experts, and only dense models were measured"
        return
    rows, _, numbers = _known(kind)
    asked = np.array(logs(setting))
    least, most = numbers.min(axis=0), numbers.max(axis=0)
    for place, name in enumerate(LOGS):
        if least[place] - asked[place] > FARTHEST:
            yield _beyond(name, setting, 2 ** least[place], 1)
        if asked[place] - most[place] > FARTHEST:
            yield _beyond(name, setting, 2 ** most[place], 2)
    generations = sorted({row.generation for row in rows})
    if setting.generation not in generations:
        yield f"{setting.generation}: measured were {_listed(generations)} GPUs"
    precisions = sorted({row.precision for row in rows})
    if setting.precision not in precisions:
        known = _listed([NAMES[each] for each in precisions])
        asked_for = NAMES.get(setting.precision, setting.precision)
        yield f"numbers in {asked_for}: measured were {known}"


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _beyond(name: str, setting: Setting, last: float, side: int) -> str:
    """What lies too far beyond the ``last`` of the measured, on which ``side``."""
    words, value = WORDS[name], getattr(setting, name)
    billion = " billion" if name == "params" else ""
    asked, known = (_said(each / 1e9 if billion else each) for each in (value, last))
    said = words[0].format(asked)
    if name == "clients":
        said = "one client alone" if value == 1 else said
        return f"{said}: the {words[side]} measured were {known}"
    return f"{said}: the {words[side]} measured had {known}{billion}"


def _said(number: float) -> str:
    return f"{number:,.0f}" if number >= 1 else f"{number:.2g}"


def _regime(rows: Sequence[MeasuredRow]) -> str:
    """What some rows have in common, in a line."""
    parts = []
    for name in ("model", "system", "engine", "precision"):
        parts.append("/".join(sorted({getattr(row, name) for row in rows})))
    for name, said in (("tp", "TP {}"), ("clients", "{} clients")):
        values = sorted({getattr(row, name) for row in rows})
        span = f"{values[0]}–{values[-1]}" if len(values) > 1 else f"{values[0]}"
        parts.append(said.format(span))
    return ", ".join(parts)
