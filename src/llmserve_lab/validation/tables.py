"""The machine fitted to servers, as tables: its constants, and how far off it is."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from llmserve_lab.formula.origin import Sourced
from llmserve_lab.formula.text import si
from llmserve_lab.page.table import Table
from llmserve_lab.validation.constants import DATASHEET, achieved, record

CONSTANTS: Mapping[str, str] = MappingProxyType(
    {
        "memory": "share of the memory bandwidth",
        "compute": "share of the dense 16-bit peak",
        "link": "share of the link's bandwidth",
        "layer_s": "time of a layer on top, in each iteration",
        "request_s": "time of a request in each iteration",
        "client_s": "time of a first token outside the engine",
        "overlap": "share of the shorter of reading and computing that is hidden",
        "prompt_layers": "times that a layer takes where there is a prompt",
        "exponent": "fewer bits compute (ratio of the peaks) to this power as fast",
    }
)
TIMES: Mapping[str, str] = MappingProxyType(
    {
        "tpot": "time per output token (TPOT)",
        "ttft": "time to first token (TTFT), public protocols only",
        "e2e": "end-to-end time",
    }
)


def achieved_table() -> Table:
    """Table of the fitted constants beside the datasheet's, each with its origin."""
    reached, rows = achieved(), []
    for name, what in CONSTANTS.items():
        unit = "s" if name.endswith("_s") else ""
        sheet, found = (float(getattr(each, name)) for each in (DATASHEET, reached))
        value = Sourced(si(found, unit), reached.cited(name))
        rows.append((what, si(sheet, unit) if sheet else "0", value))
    return Table(
        "The machine fitted to servers",
        ("constant", "datasheet", "fitted to servers"),
        rows,
        notes=(
            "The first six are fitted to measured rows of dense models, one set for "
            "all engines, GPUs, precisions and models; the last three are set.",
        ),
    )


def error_table() -> Table:
    """Table of its mean absolute errors on rows of models that were left out."""
    rows = []
    for kind, what in TIMES.items():
        score = record()["scores"]["model"][kind]
        mean, median, bias = (
            f"{100 * score[name]:{sign}.1f} %"
            for name, sign in (("mean", ""), ("median", ""), ("bias", "+"))
        )
        rows.append((what, str(score["n"]), mean, median, bias))
    return Table(
        "How far off it is, the model left out of the fit",
        ("time", "rows", "mean error", "median", "bias"),
        rows,
    )
