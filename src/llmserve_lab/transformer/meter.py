"""A meter sits between the model and its multiplications, and counts what is done."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from llmserve_lab.transformer.arithmetic import PLAIN, Array, Execution, Mask, Product

FLOPS_PER_MAC = 2


@dataclass
class Meter:
    """FLOPs done and query–key pairs met, over all layers, since it was made.

    ``attn_flops`` counts every pair that was computed, masked away or not;
    ``useful_attn_flops`` only those that the mask let through, which is what the
    causal closed forms count. Norms, softmax and activations are not counted.
    """

    linear_flops: int = 0
    attn_flops: int = 0
    pairs: int = 0
    useful_pairs: int = 0

    @property
    def useful_attn_flops(self) -> int:
        """FLOPs of the pairs that the mask let through."""
        return self.attn_flops * self.useful_pairs // max(self.pairs, 1)

    def on(self, run: Execution = PLAIN) -> Execution:
        """``run``, with this meter reading along."""

        def linear(left: Array, right: Array) -> Array:
            return self._counted("linear_flops", run.linear, left, right)

        def attention(left: Array, right: Array) -> Array:
            return self._counted("attn_flops", run.attention, left, right)

        def see(mask: Mask) -> None:
            run.see(mask)
            self.pairs += mask.size
            self.useful_pairs += int(mask.sum())

        return replace(run, linear=linear, attention=attention, see=see)

    def _counted(
        self, field: str, product: Product, left: Array, right: Array
    ) -> Array:
        result = product(left, right)
        done = FLOPS_PER_MAC * math.prod(result.shape) * left.shape[-1]
        setattr(self, field, getattr(self, field) + done)
        return result
