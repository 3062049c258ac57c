"""Fixed time of a kernel: what neither bytes nor operations explain, fitted.

Decode replays CUDA graphs, so little of it is the launch. Short kernels do not reach
the rates of the model, and each begins and ends at less than full speed.
"""

from __future__ import annotations

from llmserve_lab.moe.models import DEEPSEEK
from llmserve_lab.moe.serving import MOE_LAYERS
from llmserve_lab.validation.kernel_form import layer_kernels
from llmserve_lab.validation.served import served_constants


def kernel_s() -> float:
    """Seconds of one kernel beside its work, fitted to servers of mixtures."""
    return served_constants().kernel_s


def kernels() -> float:
    """Kernels of a layer, without what sends."""
    return layer_kernels(DEEPSEEK, precision="fp8", tp=1)


def kernels_s() -> float:
    """Seconds of all kernels of an iteration beside their work, whatever the batch."""
    return DEEPSEEK.n_layers * kernels() * kernel_s()


def layer_kernels_s() -> float:
    """The same, divided by the MoE layers."""
    return kernels_s() / MOE_LAYERS
