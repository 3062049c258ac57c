"""The chapter's bench: your own requests, any chunk, any scheduler, on the engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import count
from typing import Any

from llmserve_lab.catalog import (
    EFFICIENCIES,
    MODELS,
    Accelerator,
    ModelShape,
)
from llmserve_lab.catalog.selection import (
    beginning_with,
    in_servers,
    stacks_known,
)
from llmserve_lab.continuous_batching.machine import DECODES
from llmserve_lab.continuous_batching.page.stills import heartbeat
from llmserve_lab.continuous_batching.workloads import beside_a_book
from llmserve_lab.engine import (
    Chunked,
    ChunkedWithin,
    Continuous,
    IterationCost,
    Policy,
    Pool,
    Report,
    Request,
    Static,
    simulate,
)
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn, Write
from llmserve_lab.running_example import DEVICE, FITTED, served_by

DEVICES = beginning_with(DEVICE, in_servers("bf16", stacks_known))
ON_ONE_DEVICE = tuple(MODELS[k] for k in ("llama-3.1-8b", "llama-3-8b", "llama-2-7b"))
MODEL_NAMES = tuple(model.name for model in ON_ONE_DEVICE)
DEVICE_NAMES = tuple(each.name for each in DEVICES)
SHARE_NAMES = (FITTED, *(each.name for each in EFFICIENCIES.values()))
SCHEDULERS: dict[str, Callable[[int, float], Policy]] = {
    "chunked prefill, a token budget": lambda rows, _: Chunked(rows),
    "chunked prefill, a target": lambda _, target_s: ChunkedWithin(target_s),
    "continuous batching, whole prompts": lambda *_: Continuous(),
    "static batching": lambda *_: Static(DECODES),
}
MOST_LOOKS = 100_000  # at the clock, two an iteration: a few seconds


def bench() -> Bench:
    """The freeze with every setting open; its picture is the state at the start."""
    knobs: dict[str, Knob] = {
        "scheduler": Choose("scheduler", tuple(SCHEDULERS), next(iter(SCHEDULERS))),
        "budget": Turn("token budget", 1, 1_000_000, 8192),
        "target_ms": Turn("target (ms)", 1, 100_000, 100),
        "prompt": Turn("long prompt", 1, 1_000_000, 65_536),
        "decodes": Turn("decodes beside it", 0, 256, DECODES),
        "requests": Write("or your own", "arrival prompt answer; arrival prompt …"),
        "model": Choose("model", MODEL_NAMES, MODEL_NAMES[0]),
        "accelerator": Choose("GPU", DEVICE_NAMES, DEVICE_NAMES[0]),
        "efficiency": Choose("share of peak", SHARE_NAMES, SHARE_NAMES[0]),
    }
    start: dict[str, Any] = {
        name: getattr(knob, "default", "") for name, knob in knobs.items()
    }
    title, report = run(**start)
    picture = heartbeat(report, title)
    return Bench("Bench: serve your own requests", knobs, show, picture)


def read(text: str) -> list[Request]:
    """Requests from ``"0 1024 200; 0.5 65536 10"``: arrival in s, prompt, answer.

    Raises:
        ValueError: an entry is not three numbers, or a request cannot be so.
    """
    found = []
    for number, entry in enumerate(filter(str.strip, text.split(";"))):
        try:
            arrival, prompt, answer = entry.split()
            found.append(
                Request(
                    arrival_s=float(arrival),
                    prompt_len=int(prompt),
                    output_len=int(answer),
                    id=number,
                )
            )
        except ValueError as error:
            raise ValueError(
                f"a request must be 'arrival prompt answer', got {entry.strip()!r} "
                f"({error})"
            ) from None
    return sorted(found, key=lambda request: request.arrival_s)


@lru_cache(maxsize=1)
def run(
    *,
    scheduler: str,
    budget: int,
    target_ms: int,
    prompt: int,
    decodes: int,
    requests: str,
    model: str,
    accelerator: str,
    efficiency: str,
) -> tuple[str, Report]:
    """A title, and the run at these settings; the latest is remembered.

    Raises:
        ValueError: the run takes more iterations than can be drawn, a request exceeds
            the model's maximum context, or can never fit beside the weights.
    """
    workload = read(requests) or beside_a_book(prompt_len=prompt, n_decodes=decodes)
    (shape,) = (each for each in ON_ONE_DEVICE if each.name == model)
    for request in workload:
        shape.require_context(request.prompt_len + request.output_len)
    (device,) = (each for each in DEVICES if each.name == accelerator)
    cost = _cost(shape, device, efficiency)
    policy = SCHEDULERS[scheduler](budget, target_ms / 1000)
    looks = count(1)
    report = simulate(
        workload,
        Pool(cost, policy),
        log=True,
        leap=False,
        stop=lambda _: next(looks) > MOST_LOOKS,
    )
    if report.stopped:
        raise ValueError(
            "an iteration must carry more, or less be asked for: the run is not over "
            f"after {report.iterations:,} iterations"
        )
    return f"{shape.name} on {device.name}, {scheduler}", report


def _cost(shape: ModelShape, device: Accelerator, share: str) -> IterationCost:
    """The machine fitted to servers, or one that reaches a share of its peaks."""
    if share == FITTED:
        return served_by(shape, device)
    (reached,) = (each for each in EFFICIENCIES.values() if each.name == share)
    return IterationCost.of(shape, device, efficiency=reached)


def show(**settings: Any) -> str:
    """The heartbeat, and the engine's own table of the waits."""
    title, report = run(**settings)
    return heartbeat(report, title).html() + report.table()._repr_html_()
