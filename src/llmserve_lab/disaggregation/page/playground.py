"""The chapter's bench: your own load on your own fleet, or a trace that you have."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

from llmserve_lab.catalog import LINKS
from llmserve_lab.disaggregation.page.controls import GPUS, ON_ONE_GPU
from llmserve_lab.disaggregation.topologies import (
    deployments,
    distributions,
    side_by_side,
    table,
    trace,
)
from llmserve_lab.engine import Report, Request
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn, Write
from llmserve_lab.running_example import ANSWER, PROMPT, served_by
from llmserve_lab.workloads import READERS, made_up

MODELS = {model.name: model for model in ON_ONE_GPU}
MACHINES = {gpu.name: gpu for gpu in GPUS}
WIRES = {link.name: key for key, link in LINKS.items()}
MS, MICRO = 1e-3, 1e-6
MADE_UP = "made up"


def bench(reports: dict[str, Report]) -> Bench:
    """Every setting open; its picture is that of ``reports``, the chapter's example."""
    knobs: dict[str, Knob] = {
        "model": Choose("model", tuple(MODELS), "Llama-3.1-8B"),
        "gpu": Choose("GPU", tuple(MACHINES), "H100 SXM"),
        "link": Choose("link", tuple(WIRES), "InfiniBand NDR"),
        "latency": Turn("its latency, where none is published (µs)", 0, 1000, 0),
        "n_prefill": Turn("prefill GPUs", 1, 64, 2),
        "n_decode": Turn("decode GPUs", 1, 64, 2),
        "prompt": Turn("mean prompt (tokens)", 1, 100_000, PROMPT),
        "output": Turn("mean answer (tokens)", 1, 4000, ANSWER),
        "rate": Turn("requests in 10 s", 1, 10_000, 400),
        "budget": Turn("rows in a chunked iteration", 16, 16_384, 512),
        "overhead": Turn("added to every iteration (ms)", 0, 100, 0),
        "reader": Choose("or a trace, read as", tuple(READERS), "azure"),
        "file": Write("… from this file", f"path of a trace, or: {MADE_UP}"),
    }
    return Bench("Bench: one engine or two pools", knobs, _show, distributions(reports))


def _show(
    *,
    model: str,
    gpu: str,
    link: str,
    latency: int,
    n_prefill: int,
    n_decode: int,
    budget: int,
    overhead: int,
    **load: Any,
) -> str:
    """The table and the picture of three deployments under one load."""
    each = served_by(MODELS[model], MACHINES[gpu])
    cost = replace(each, overhead_s=each.overhead_s + overhead * MS)
    ways = deployments(
        cost=cost,
        n_prefill=n_prefill,
        n_decode=n_decode,
        link=WIRES[link],
        budget=budget,
        link_latency_s=latency * MICRO if LINKS[WIRES[link]].latency is None else None,
    )
    reports = side_by_side(requests(**load), ways)
    return table(reports)._repr_html_() + distributions(reports).html()


def requests(
    *, prompt: int, output: int, rate: int, reader: str, file: str, most: int = 1000
) -> list[Request]:
    """The first requests of the file, of a made-up trace like it, or of the laws."""
    if file.strip() == MADE_UP:
        return list(made_up(num_requests=most)[reader])
    if file:
        return list(islice(READERS[reader](file), most))
    return trace(
        prompt=prompt, output=output, rate_per_s=rate / 10, num_requests=most, seed=1
    )
