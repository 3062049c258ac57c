"""The form that counts kernels, with what SGLang launches one by one.

Written after the third blind trial, with the runs of all three in view. The runs of
SGLang's cookbook, nearly all at its default settings, were predicted 36 % too short;
three of the reasons are in sight there, and two of them are priced here:

- an iteration that carries a prompt runs no recorded graph: Python launches its kernels
  one by one while all decodes wait. It takes ``launched`` times as long as the kernels
  of a decode, on top of what it computes; with vLLM and TensorRT-LLM, whose decodes go
  on beside prompts, nothing of the kind shows;
- a router that adds a bias to a sigmoid, without groups of experts, was put together
  from :data:`ROUTER` kernels more until version 0.5.9: a fact of three pages, whose
  versions they print. That it matters, and that it is eight, was seen on these runs;
- attention by a general Triton kernel, of a few heads on a long latent, which one page
  asks for and another's times show, grows with the context far beyond its bytes. No
  other source has such runs, and nothing is fitted to it.

The page of Kimi-K2.6 repeats the figures of Kimi-K2.5's to the last digit: they are
no runs of their own, and :func:`llmserve_lab.validation.launch_fit.seen_rows` leaves
them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from llmserve_lab.validation.constants import ServingConstants
from llmserve_lab.validation.extra_fit import ExtraConstants
from llmserve_lab.validation.kernel_form import KernelPredictor
from llmserve_lab.validation.prediction import Times
from llmserve_lab.validation.rows import MeasuredRow
from llmserve_lab.validation.third_rows import CookbookRow
from llmserve_lab.validation.unit_work import Floats

# A sigmoid, the bias, the choice, picking the weights, their sum, the division by it,
# the scale, and a cast, where others launch one kernel and are counted with one.
ROUTER = 8
# Pages of SGLang's cookbook at versions 0.5.6 to 0.5.8, by model and GPU.
UNFUSED = frozenset(
    {
        ("zai-org/GLM-4.6", "b200-sxm"),
        ("zai-org/GLM-4.7-Flash", "b200-sxm"),
        ("MiniMaxAI/MiniMax-M2.5", "b200-sxm"),
    }
)


@dataclass(frozen=True, kw_only=True)
class LaunchConstants(ExtraConstants):
    """What is fitted of a mixture of experts beside the constants of dense models.

    Args:
        kernel_s: seconds of each kernel of each layer in each iteration.
        products: how many times as long the products with the experts of a row take.
        launched: times of all kernels that an iteration of SGLang takes more where it
            carries a prompt.

    Raises:
        ValueError: a number is negative.
    """

    kernel_s: float
    products: float
    launched: float


def router_kernels(row: MeasuredRow) -> int:
    """Kernels of a layer's router beyond the one that is counted of it."""
    told = isinstance(row, CookbookRow) and (row.model, row.system) in UNFUSED
    return ROUTER if told else 0


class LaunchPredictor(KernelPredictor):
    """Rows of mixtures, ready to be priced with kernels and launches counted.

    Raises:
        ValueError: there is no row, or one of a model without experts.
    """

    @cached_property
    def kernels(self) -> Floats:
        """Kernels of all layers of a decode, [rows]."""
        more = [row.shape.n_layers * router_kernels(row) for row in self.rows]
        found: Floats = super().kernels + np.array(more)
        return found

    @cached_property
    def _waits(self) -> Floats:
        """1 where decodes wait for prompts' launches, else 0, [rows]."""
        return np.where(self.label("engine") == "sglang", 1.0, 0.0)

    def launching(self, reached: ServingConstants, extra: LaunchConstants) -> Times:
        """The times of all rows, launches of prompts included."""
        has = self._slopes(reached)
        return self._times({**has, **self._launched(has, extra)}, reached)

    def _launched(
        self, has: Mapping[str, Floats], extra: LaunchConstants
    ) -> dict[str, Floats]:
        """What constants change of the slopes that a row ``has``, each [rows]."""
        decode_s = self.kernels * extra.kernel_s
        return {
            "row_s": has["dense_row_s"] + has["expert_row_s"] * extra.products,
            "overhead_s": decode_s,
            "prompt_s": has["prompt_s"] + self._waits * extra.launched * decode_s,
        }
