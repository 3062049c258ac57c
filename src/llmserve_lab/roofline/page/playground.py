"""The chapter's bench: any machine, any model, your own config.json, your own load."""

from __future__ import annotations

from typing import Any

from llmserve_lab.catalog import (
    ACCELERATORS,
    EFFICIENCIES,
    MODELS,
    PRECISIONS,
    Given,
    machine,
    model_from_config,
    workload,
)
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.page.widget import Bench, Choose, Knob, Turn, Write
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.machine import BATCH, MEAN_CONTEXT, prompt_params
from llmserve_lab.roofline.page.stills import roof
from llmserve_lab.running_example import PROMPT, model, share

SHAPES = {model.name: model for model in MODELS.values()}
MACHINES = {each.name: each for each in ACCELERATORS.values() if each.disclosed}
REACHED = {each.name: each for each in (*EFFICIENCIES.values(), share())}
STEPS = (
    f.ITERATION_BYTES,
    f.ITERATION_FLOPS,
    f.INTENSITY,
    f.RIDGE,
    f.ITERATION_S_APART,
)


def bench() -> Bench:
    """The roofline with every setting open; its picture is the state at the start."""
    knobs: dict[str, Knob] = {
        "model": Choose("model", tuple(SHAPES), model().name),
        "config": Write("or a config.json", "path of a config.json on this machine"),
        "accelerator": Choose("accelerator", tuple(MACHINES), "H100 SXM"),
        "precision": Choose("precision", tuple(PRECISIONS), "bf16"),
        "efficiency": Choose("share of peak", tuple(REACHED), "datasheet"),
        "batch": Turn("requests in the batch", 1, 100_000, BATCH),
        "context": Turn("tokens in cache each (decode)", 0, 10_000_000, MEAN_CONTEXT),
        "chunk": Turn("prefill chunk", 1, 1_000_000, PROMPT),
    }
    start: dict[str, Any] = {
        name: getattr(knob, "default", "") for name, knob in knobs.items()
    }
    return Bench("Bench: a roofline of your own", knobs, _show, _roof(**start))


def settings(
    *,
    model: str,
    config: str,
    accelerator: str,
    precision: str,
    efficiency: str,
    batch: int,
    context: int,
    chunk: int,
) -> tuple[str, dict[str, dict[str, Given]]]:
    """A title, and for each phase every argument of the chapter's formulas.

    Raises:
        LookupError: the machine does not compute in this precision.
        OSError, ValueError: no model can be read from the file ``config``.
    """
    shape = model_from_config(config) if config else SHAPES[model]
    device = MACHINES[accelerator]
    chip = machine(device, precision=precision, efficiency=REACHED[efficiency])
    phases: dict[str, dict[str, Given]] = {
        "decode": workload(shape, precision=precision) | {"batch": batch, "chunk": 1},
        "prefill": workload(shape, precision=precision, absorbed=False)
        | {"batch": 1, "chunk": chunk, "params_active": prompt_params(shape)},
    }
    title = f"{shape.name} on {device.name}, {precision}"
    cached = {"decode": context, "prefill": 0}
    return title, {p: chip | w | {"context": cached[p]} for p, w in phases.items()}


def _roof(**turned: Any) -> StaticFigure:
    """The picture, which says what weights and caches hold."""
    title, phases = settings(**turned)
    stored = float(f.STORED_BYTES.at(phases["decode"]))
    held = f.ITERATION_BYTES.at(phases["decode"], weight_bytes=stored)
    return roof(title, **phases, held_bytes=float(held))


def _show(**turned: Any) -> str:
    """The picture, and the worked substitution of each step for both phases."""
    _, phases = settings(**turned)
    parts = [_roof(**turned).html()]
    for phase, known in phases.items():
        parts.append(f"<h4>{phase.capitalize()}</h4>")
        parts += [f"$${formula.worked(known).latex}$$" for formula in STEPS]
    return "\n".join(parts)
