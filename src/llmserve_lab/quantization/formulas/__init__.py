"""Scales, bytes and steps of a quantized model, in closed form."""

from llmserve_lab.quantization.formulas.sizes import *  # noqa: F403
from llmserve_lab.quantization.formulas.steps import *  # noqa: F403
