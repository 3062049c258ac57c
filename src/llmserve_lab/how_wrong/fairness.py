"""How the scores of the page bear a second look: other rows, rows refused, bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from llmserve_lab.catalog.evidence import serving
from llmserve_lab.checks import UnknownKeyError, key_of
from llmserve_lab.how_wrong.folds import constants_without
from llmserve_lab.how_wrong.record import chosen, row_errors
from llmserve_lab.validation import MeasuredRow, Predictor, dense_rows, errors
from llmserve_lab.validation.constants import record as validated
from llmserve_lab.validation.fit import TTFT_WEIGHT, UNKNOWN_WEIGHT
from llmserve_lab.validation.prediction import Kind
from llmserve_lab.validation.rows import refused_rows
from llmserve_lab.validation.unit_work import Floats

# Weights of TTFT in the fit, beside 1 of TPOT: its script public, or guessed.
WEIGHTS = (TTFT_WEIGHT, UNKNOWN_WEIGHT)


def same_rows(kind: Kind = "tpot") -> tuple[float, float]:
    """Least and most that the book's mean error can be on as many rows as the tool's.

    Which rows the tool does not answer is not stored: they may be the book's best rows,
    or its worst.
    """
    size = np.sort(np.abs(row_errors(kind, "model")))
    kept = round(float(serving.TOOL_ROWS))
    return float(size[:kept].mean()), float(size[-kept:].mean())


@cache
def refused() -> tuple[int, float, float]:
    """Rows refused, their mean TPOT error, and that of all rows if they were kept."""
    own = Predictor(refused_rows())
    reached = constants_without("model", own.rows[0].model)
    size = np.abs(errors(own.predict(reached), own.measured, "tpot"))
    every = np.concatenate([np.abs(row_errors("tpot", "model")), size])
    return len(size), float(size.mean()), float(every.mean())


RULES = {"plain": 1, "even": 2, "wide": 3}  # places of the shares in the record


def covered(
    by: str, kind: Kind, *, rule: str = "wide", name: str | None = None
) -> float:
    """Share of rows inside their band: of a name left out, or of all its label's.

    ``rule``: the middle nine tenths of the nearest errors are the ``"plain"`` band; the
    factor that holds as many, up or down, the ``"even"`` one; its power the ``"wide"``.

    Raises:
        LookupError: there is no such rule, or the name was not left out.
    """
    key_of("rule", rule, RULES)
    tried = validated()["coverage"]["tried"][by][kind]
    if name is not None and name not in tried:
        raise UnknownKeyError(f"name must be one of {', '.join(tried)}, got {name!r}")
    found = tried.values() if name is None else [tried[name]]
    inside = sum(each[0] * each[RULES[rule]] for each in found)
    return float(inside / sum(each[0] for each in found))


Runs = Literal["fewest", "most", "both"]  # of a server's own loads


@dataclass(frozen=True, eq=False)
class BetweenRuns:
    """Loads between a server's fewest and most clients, [loads] each.

    ``before`` are sizes of the TPOT errors with the model left out. ``after`` are those
    where the server was run once before, with its fewest or most clients or both and
    the same lengths: then the predictions are divided by predicted over measured of
    those runs (of both, by the geometric mean). None of the scored loads was run for
    it: cross-validated. ``late`` are the measured times over these corrected ones.
    """

    servers: tuple[str, ...]
    before: Floats
    after: Floats
    late: Floats


def own_runs(which: Runs) -> tuple[float, float]:
    """Mean TPOT error of the loads between, as predicted and after a server's runs."""
    found = between_runs(which)
    return float(found.before.mean()), float(found.after.mean())


@cache
def between_runs(which: Runs) -> BetweenRuns:
    """Errors of the loads between a server's own runs."""
    rows, error = chosen("tpot", "model")
    kept = dict[tuple[str, int, int], list[tuple[int, float]]]()
    for row, each in zip(rows, np.log1p(error), strict=True):
        key = (row.server, row.prompt_len, row.output_len)
        kept.setdefault(key, []).append((row.clients, float(each)))
    servers, before, after = list[str](), list[float](), list[float]()
    for (server, *_), loads in kept.items():
        if len(loads) < 3:  # nothing lies between
            continue
        (_, few), *between, (_, many) = sorted(loads)
        shift = {"fewest": few, "most": many, "both": (few + many) / 2}[which]
        servers += [server] * len(between)
        before += [each for _, each in between]
        after += [each - shift for _, each in between]
    was, corrected = np.array(before), np.array(after)
    first, then = (np.abs(np.expm1(each)) for each in (was, corrected))
    return BetweenRuns(tuple(servers), first, then, np.exp(-corrected))


def at_the_most() -> float:
    """Mean TPOT error of the runs with the most clients that :func:`own_runs` uses."""
    rows, error = chosen("tpot", "model")
    kept = dict[tuple[str, int, int], list[tuple[int, float]]]()
    for row, each in zip(rows, error, strict=True):
        key = (row.server, row.prompt_len, row.output_len)
        kept.setdefault(key, []).append((row.clients, abs(float(each))))
    return float(np.mean([max(loads)[1] for loads in kept.values() if len(loads) > 2]))


# Shapes of a request, by the least ratio of its lengths that gives it its name.
LONGER = 4
SHAPES = ("long prompts", "long answers", "lengths alike")


def shaped(words: str) -> tuple[tuple[MeasuredRow, ...], Floats]:
    """Rows whose prompt or answer is at least four times the other, or neither.

    With their TPOT errors, the model left out.

    Raises:
        LookupError: there is no such shape.
    """
    key_of("words", words, dict.fromkeys(SHAPES))
    rows, error = chosen("tpot", "model")
    own = np.array([_shape(row) == words for row in rows])
    return tuple(row for row, mine in zip(rows, own, strict=True) if mine), error[own]


def _shape(row: MeasuredRow) -> str:
    if row.prompt_len >= LONGER * row.output_len:
        return SHAPES[0]
    return SHAPES[1 if row.output_len >= LONGER * row.prompt_len else 2]


def worst_server(servers: Sequence[str], size: Floats) -> float:
    """The largest of the servers' mean errors."""
    label = np.array(servers)
    return max(float(size[label == each].mean()) for each in set(servers))


def mean_of(**labels: object) -> float:
    """Mean TPOT error of the rows with some labels, their model left out.

    Raises:
        ValueError: there is no such row.
    """
    size = np.abs(row_errors("tpot", "model"))
    return float(size[_labelled(labels)].mean())


def by_load() -> dict[int, float]:
    """Mean TPOT error by the number of clients, over every row with so many."""
    loads = sorted({row.clients for row in dense_rows()})
    return {clients: mean_of(clients=clients) for clients in loads}


def worst_kept() -> tuple[tuple[str, str, str], float]:
    """Model, kind of GPU and engine with the largest mean TPOT error, none refused."""
    groups = {(row.model, row.system, row.engine) for row in dense_rows()}
    errors_of = {
        group: mean_of(model=group[0], system=group[1], engine=group[2])
        for group in groups
    }
    worst = max(errors_of, key=lambda group: errors_of[group])
    return worst, errors_of[worst]


def bias_of(engine: str, left_out: str) -> float:
    """Bias of TPOT on an engine's rows, by constants without some label's group.

    Raises:
        LookupError: nothing of that name is left out.
    """
    own = _labelled({"engine": engine})
    return float(row_errors("tpot", left_out)[own].mean())


def times_as_long(**labels: object) -> list[float]:
    """Measured over predicted TPOT of the rows with some labels, the longest first.

    Raises:
        ValueError: there is no such row.
    """
    error = row_errors("tpot", "model")[_labelled(labels)]
    return sorted((float(each) for each in 1 / (1 + error)), reverse=True)


def _labelled(labels: Mapping[str, object]) -> list[bool]:
    """Which rows have some labels; at least one has."""
    own = [
        all(getattr(row, name) == value for name, value in labels.items())
        for row in dense_rows()
    ]
    if not any(own):
        raise ValueError(f"labels must be those of a row, got {labels}")
    return own
