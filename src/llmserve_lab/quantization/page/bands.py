"""How far off predictions of a decode step are, by the setting of the live figure."""

from __future__ import annotations

from llmserve_lab.formula.band import Band, Unmeasured
from llmserve_lab.quantization.page.controls import DEVICES, SERVED, WEIGHTS
from llmserve_lab.running_example import ANSWER, band

MEASURED = {"bf16": "bf16", "fp8": "fp8", "nvfp4": "fp4"}


def decode_band(
    *, batch: float, context: float, model: str, accelerator: str, weights: str
) -> Band | Unmeasured:
    """The band of measured servers with weights of this format, if there are any.

    The context is that of a request in the middle of its answer.
    """
    (key,) = (each for each, name in WEIGHTS.items() if name == weights)
    if key not in MEASURED:
        return Unmeasured(f"no measured server had {weights} weights")
    (shape,) = (each for each in SERVED if each.name == model)
    (gpu,) = (each for each in DEVICES if each.name == accelerator)
    return band(
        "decode_step",
        clients=int(batch),
        prompt_len=int(context) - ANSWER // 2,
        model_key=shape.key,
        device_key=gpu.key,
        precision=MEASURED[key],
    )
