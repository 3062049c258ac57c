"""The form that the book predicts served mixtures of experts with.

Written after the fourth blind trial, with all its 104 runs and the 1,220 of three
trials before in view. To the form that counts kernels and launches
(:mod:`.launch_form`) it adds three constants. Each is kept since it betters the error
where a model and its source are left out together (:mod:`.served_sources`):

- in vLLM, where more than eight heads of queries share one of keys and values
  (:data:`SHARED`), attention takes a time for each token of a request's context and
  layer, however many requests there are, as if nothing shared the walk along it. All
  such models on long contexts show it, 8,000 tokens and more, on each kind of GPU;
- experts are read in a share of the time that independent choices would take;
  presumably rows of one text choose alike, so that fewer experts are touched;
- in four bits, products with experts take a share of the time that half the gain of
  the peaks gives them: kernels in four bits make more of it. On which kind of GPU, it
  does not ask, and gpt-oss decides it: without its runs a sixth of it would be fitted.

What was tried beside them and bettered nothing there: INT4 experts that are read
slower, a time of vLLM's for each iteration or request, a time of each all-reduce, more
bytes of cache where many heads share them. A factor for servers "set by default" moved
from neither of the two sources that have such servers to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.hybrid import HybridShape
from llmserve_lab.validation.constants import ServingConstants
from llmserve_lab.validation.launch_form import LaunchConstants, LaunchPredictor
from llmserve_lab.validation.prediction import Times
from llmserve_lab.validation.unit_work import Floats

SHARED = 8  # heads of queries on one of keys, up to which contexts cost their bytes
FOUR = "fp4"


@dataclass(frozen=True, kw_only=True)
class ServedConstants(LaunchConstants):
    """What is fitted of a mixture of experts beside the constants of dense models.

    Args:
        kernel_s: seconds of each kernel of each layer in each iteration.
        products: how many times as long the products with the experts of a row take.
        launched: times of all kernels that an iteration of SGLang takes more where it
            carries a prompt.
        context_s: seconds of each layer in each iteration of vLLM for each token that a
            request has in the cache, in the mean over requests, where more than
            :data:`SHARED` heads share a KV head.
        touched: how many times as long reading the experts takes as it would if rows
            chose them independently.
        four_bits: how many times as long products with experts in FP4 take beside
            ``products``.

    Raises:
        ValueError: a number is negative.
    """

    context_s: float
    touched: float
    four_bits: float


def walked_layers(shape: ModelShape, engine: str) -> int:
    """Layers that walk along a request's context, if the engine's attention does.

    Of a hybrid these are the layers with attention; no run of vLLM's tells.
    """
    spec = shape.attention
    if engine != "vllm" or not isinstance(spec, GroupedQueryAttention):
        return 0
    if spec.n_heads <= SHARED * spec.n_kv_heads:
        return 0
    return shape.full_layers if isinstance(shape, HybridShape) else shape.n_layers


class ServedPredictor(LaunchPredictor):
    """Rows of mixtures, ready to be priced as the book prices them.

    Raises:
        ValueError: there is no row, or one of a model without experts.
    """

    @cached_property
    def _four(self) -> np.ndarray:
        """Which rows have experts in four bits, [rows]."""
        found: np.ndarray = self.label("precision") == FOUR
        return found

    @cached_property
    def _walked(self) -> Floats:
        """Layers that walk along a context, times such tokens: in TTFT, in TPOT."""
        layers = [walked_layers(row.shape, row.engine) for row in self.rows]
        return np.array([layers * part.contexts() for part in self._parts])

    def served(self, reached: ServingConstants, extra: ServedConstants) -> Times:
        """The times of all rows, contexts walked along included."""
        has = dict(self._slopes(reached))
        has["expert_row_s"] = has["expert_row_s"] * np.where(
            self._four, extra.four_bits, 1.0
        )
        has["experts_s"] = has["experts_s"] * extra.touched
        timed = self._times({**has, **self._launched(has, extra)}, reached)
        ttft, tpot = extra.context_s * self._walked
        return Times.of(timed.ttft + ttft, timed.tpot + tpot, self._output_len)
