"""The chapter's bench: any machine, any model, your own config.json, your own load."""

from __future__ import annotations

from typing import Any

from llmserve_lab.book.bench import Bench, Choose, Knob, Turn, Write
from llmserve_lab.catalog import ModelShape, machine, model_from_config, workload
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.choices import DEVICES, FORMATS, LARGE, SHARES
from llmserve_lab.roofline.pictures import roof

MODELS = {model.name: model for model in LARGE}
MACHINES = {device.name: device for device in DEVICES}
REACHED = {share.name: share for share in SHARES}
STEPS = (f.ITERATION_BYTES, f.ITERATION_FLOPS, f.INTENSITY, f.RIDGE, f.ITERATION_S)


def bench() -> Bench:
    """The roofline with every setting open; its picture is the state at the start."""
    knobs: dict[str, Knob] = {
        "model": Choose("model", tuple(MODELS), "Llama-2-7B"),
        "config": Write("or a config.json", "path of a config.json on this machine"),
        "accelerator": Choose("accelerator", tuple(MACHINES), "H100 SXM"),
        "precision": Choose("precision", FORMATS, FORMATS[0]),
        "efficiency": Choose("share of peak", tuple(REACHED), "datasheet"),
        "batch": Turn("requests in the batch", 1, 100_000, 32),
        "context": Turn("tokens in cache each", 0, 10_000_000, 1024),
        "chunk": Turn("prefill chunk", 1, 1_000_000, 2048),
    }
    start: dict[str, Any] = {
        name: getattr(knob, "default", "") for name, knob in knobs.items()
    }
    title, known = _settings(**start)
    return Bench("Bench: a roofline of your own", knobs, _show, roof(title, known))


def _settings(
    *,
    model: str,
    config: str,
    accelerator: str,
    precision: str,
    efficiency: str,
    batch: int,
    context: int,
    chunk: int,
) -> tuple[str, dict[str, float]]:
    """A title, and every argument of the chapter's formulas at these settings."""
    shape: ModelShape = model_from_config(config) if config else MODELS[model]
    device = MACHINES[accelerator]
    known = workload(shape, precision=precision) | machine(
        device, precision=precision, efficiency=REACHED[efficiency]
    )
    size = {"batch": batch, "context": context, "chunk": chunk}
    return f"{shape.name} on {device.name}, {precision}", known | size


def _show(**settings: Any) -> str:
    """The picture, and the worked substitution of each step for both phases."""
    title, known = _settings(**settings)
    parts = [roof(title, known).html()]
    for phase, one in (("Decode", {"chunk": 1}), ("Prefill chunk", {"batch": 1})):
        parts.append(f"<h4>{phase}</h4>")
        for formula in STEPS:
            given = known | one
            values: dict[str, Any] = {
                leaf.name: given[leaf.name] for leaf in formula.arguments
            }
            parts.append(f"$${formula.worked(**values).latex}$$")
    return "\n".join(parts)
