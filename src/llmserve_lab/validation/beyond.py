"""What lies beyond everything measured, and what measured rows share, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.setting import Setting, logs, names_of
from llmserve_lab.validation.unit_work import Floats

FARTHEST = 1.0  # doublings: a setting farther from every row in one number is outside
NAMES = {"bf16": "BF16", "fp8": "FP8", "fp4": "FP4", "int4": "INT4"}
# What a setting is, and what the least and the most of the measured rows are.
WORDS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "params": ("a model of {} billion parameters", "smallest", "largest"),
        "tp": ("a group of {} GPUs", "smallest", "largest"),
        "clients": ("{} clients at a time", "fewest", "most"),
        "prompt_len": ("a prompt of {} tokens", "shortest", "longest"),
        "total": ("experts of {} billion parameters in all", "smallest", "largest"),
        "output_len": ("an answer of {} tokens", "shortest", "longest"),
    }
)


def reasons(
    setting: Setting, rows: Sequence[MeasuredRow], numbers: Floats
) -> Iterator[str]:
    """Why none of the rows is like the setting; ``numbers`` are the rows' logs."""
    asked = np.array(logs(setting))
    least, most = numbers.min(axis=0), numbers.max(axis=0)
    for place, name in enumerate(names_of(setting)):
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
    billion = " billion" if name in ("params", "total") else ""
    asked, known = (_said(each / 1e9 if billion else each) for each in (value, last))
    said = words[0].format(asked)
    if name == "clients":
        said = "one client alone" if value == 1 else said
        return f"{said}: the {words[side]} measured were {known}"
    return f"{said}: the {words[side]} measured had {known}{billion}"


def _said(number: float) -> str:
    return f"{number:,.0f}" if number >= 1 else f"{number:.2g}"


def regime(rows: Sequence[MeasuredRow]) -> str:
    """What some rows have in common, in a line."""
    parts = []
    for name in ("model", "system", "engine", "precision"):
        names = {getattr(row, name).rpartition("/")[2] for row in rows}
        parts.append("/".join(sorted(names)))
    for name, said in (("tp", "TP {}"), ("clients", "{} clients")):
        values = sorted({getattr(row, name) for row in rows})
        span = f"{values[0]}–{values[-1]}" if len(values) > 1 else f"{values[0]}"
        parts.append(said.format(span))
    return ", ".join(parts)
