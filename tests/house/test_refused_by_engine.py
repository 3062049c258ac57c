"""Of records, engine and traces: arguments that once passed, or were not named."""

import re
from collections.abc import Callable
from dataclasses import replace
from math import nan

import pytest

from llmserve_lab import catalog, workloads
from llmserve_lab.engine import Continuous, IterationCost, Pool, Request, simulate
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.running_example import cost, device, model

Refused = tuple[Callable[[], object], str]
ROW = IterationLoad.of(chunk=1)
BARE_POOL = Pool(IterationCost(row_s=1e-3), Continuous(), kv_blocks=10**12)
ENDLESS = Request(arrival_s=0, prompt_len=10, output_len=10**12, id=0)
NONSENSE: dict[str, Refused] = {
    "a link of no kind": (
        lambda: replace(catalog.link("nvlink4"), scope="nope"),  # type: ignore
        "scope must be one of scale-up, scale-out, host, got 'nope'",
    ),
    "a model without a name": (
        lambda: replace(model(), name=None),  # type: ignore[arg-type]
        "name must be of type str, got None",
    ),
    "a table tied by a word": (
        lambda: replace(model(), tied="x"),  # type: ignore[arg-type]
        "tied must be of type bool, got 'x'",
    ),
    "a prefix that is a number": (
        lambda: replace(ENDLESS, prefix=3),  # type: ignore[arg-type]
        "prefix must be a tuple of names, got 3",
    ),
    "a target beyond any chunk": (
        lambda: cost().chunk_within(1e308, load=ROW, context=0),
        "target_s must be shorter than any chunk takes, got 1e+308",
    ),
    "a target of no number": (
        lambda: cost().chunk_within(nan, load=ROW, context=0),
        "target_s must be finite and at least 0, got nan",
    ),
    "a load that is none": (
        lambda: cost().chunk_within(1.0, load=None, context=0),  # type: ignore
        "load must be of type IterationLoad, got None",
    ),
    "rows that are no number": (
        lambda: IterationLoad(nan, 1, 1),  # type: ignore[arg-type]
        "rows must be finite and at least 0, got nan",
    ),
    "fewer pairs than none": (
        lambda: IterationLoad(1, -5, 1),
        "pairs must be finite and at least 0, got -5",
    ),
    "a cache that is a word": (
        lambda: IterationLoad(1, 1, "x"),  # type: ignore[arg-type]
        "kv_tokens must be a number, got 'x'",
    ),
    "less than no iteration": (
        lambda: ROW.times(-1),
        "rows must be finite and at least 0, got -1",
    ),
    "layers that take less than nothing": (
        lambda: IterationCost.of(model(), device(), layer_s=-1.0),
        "layer_s must be finite and at least 0, got -1.0",
    ),
    "iterations without end": (
        lambda: simulate([ENDLESS], BARE_POOL, leap=False),
        "request 0 must have at most 16,777,216 tokens with leap=False",
    ),
    "quantiles that are a word": (
        lambda: simulate([], BARE_POOL).to_dict(quantiles="x"),  # type: ignore
        "q must be of type Real, got 'x'",
    ),
    "a path that is a number": (
        lambda: simulate([], BARE_POOL).to_json(5),  # type: ignore[arg-type]
        "path must be of type str | os.PathLike | None, got 5",
    ),
    "a trace without a path": (
        lambda: next(workloads.azure(None)),  # type: ignore[arg-type]
        "path must be of type str | os.PathLike, got None",
    ),
    "a column without a name": (
        lambda: workloads.csv_trace(
            "x",
            time=None,  # type: ignore[arg-type]
            prompt="p",
            output="o",
        ),
        "time must be of type str, got None",
    ),
    "chance that is none": (
        lambda: next(workloads.bursty(1.0, cv=1.0, rng=None)),  # type: ignore
        "rng must be of type Generator, got None",
    ),
}


@pytest.mark.parametrize("call", NONSENSE)
def test_nonsense_is_refused_by_name_rule_and_value(call: str) -> None:
    refused, message = NONSENSE[call]
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        refused()
