"""One machine for the whole book, "achieved": what a served iteration really costs.

Six constants, one set for all engines, GPUs, precisions and dense models, are fitted to
968 measured rows: five are in TPOT and TTFT, that of the client in TTFT alone. Three
round numbers are set and belong to the form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.checks import at_least, key_of
from llmserve_lab.notation import quantity
from llmserve_lab.validation.rows import DATA

# Part of the form, chosen on the rows and set, not fitted: half of the shorter bill is
# hidden behind the longer; a layer takes four times its time where an iteration carries
# a prompt, since no graph of kernels was recorded for it; and half the bits compute √2
# times as fast.
OVERLAP = 0.5
PROMPT_LAYERS = 4.0
EXPONENT = 0.5


@dataclass(frozen=True, kw_only=True)
class ServingConstants:
    """What is reached of a machine while it serves, and what the rest takes.

    Args:
        memory: share of the datasheet's memory bandwidth.
        compute: share of the datasheet's dense 16-bit peak.
        exponent: fewer bits compute (16 / bits)^exponent times as fast.
        layer_s: seconds of each layer in each iteration, whatever is in it: launches,
            synchronisation, the latency of its collectives.
        link: share of the link's bandwidth one way.
        request_s: seconds for each request that an iteration schedules.
        client_s: seconds that a first token takes outside the engine: HTTP, tokens,
            the way there and back. It is in TTFT alone.
        overlap: share of the shorter of reading and computing that is hidden.
        prompt_layers: how many times ``layer_s`` a layer takes in an iteration that
            carries a prompt.

    Raises:
        ValueError: a number is negative, a share is 0, or the overlap above 1.
    """

    memory: float
    compute: float
    exponent: float = EXPONENT
    layer_s: float
    link: float
    request_s: float
    client_s: float
    overlap: float = OVERLAP
    prompt_layers: float = PROMPT_LAYERS

    def __post_init__(self) -> None:
        for each in fields(self):
            at_least(each.name, getattr(self, each.name), 0)
        for name in ("memory", "compute", "link"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if self.overlap > 1:
            raise ValueError(f"overlap must be in [0, 1], got {self.overlap}")

    def cited(self, name: str, unit: str = "") -> Cited:
        """One constant as a number of the catalog, with where it comes from.

        A time is in s, and a formula may ask for it by the ``unit`` of what it is per.
        """
        unit = unit or ("s" if name.endswith("_s") else "dimensionless")
        kind = SET if name in NOT_FITTED else FITTED
        return Cited(getattr(self, name), unit, "estimate", kind)

    def beside_the_work(self) -> dict[str, Cited]:
        """What formulas of an iteration ask beside bytes and FLOPs, by code name."""
        names = ("overlap", "layer_s", "request_s")
        return {name: self.cited(name, quantity(name).unit) for name in names}


NOT_FITTED = ("exponent", "overlap", "prompt_layers")
FITTED = "fitted to 968 measured rows (aiconfigurator-core 0.12.0), all of them seen"
SET = "set, not fitted; chosen with the same rows in view"
DATASHEET = ServingConstants(
    memory=1, compute=1, exponent=1, layer_s=0, link=1, request_s=0, client_s=0,
    overlap=1, prompt_layers=1,
)  # fmt: skip


@cache
def record() -> Mapping[str, Any]:
    """What the fit wrote down: sets of constants, scores, errors row by row."""
    found: Mapping[str, Any] = json.loads((DATA / "record.json").read_text("utf8"))
    return found


def stored(name: str = "all") -> ServingConstants:
    """A fitted set: ``"all"`` rows, the ``"sample"``, or an engine and a generation.

    Raises:
        LookupError: no such set was fitted.
    """
    sets = record()["constants"]
    key_of("name", name, sets)
    return ServingConstants(**sets[name])


def achieved() -> ServingConstants:
    """The book's machine "achieved", beside "datasheet"."""
    return stored("all")
