"""Watch a generation loop and write down what each forward pass has to do.

A tally knows nothing of prompts, caches or closed forms. It looks at the matrices while
they are multiplied and at the masks while they are applied.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from llmserve_lab.transformer import PLAIN, Execution, Meter
from llmserve_lab.transformer.arithmetic import Array, Mask


@dataclass
class Pass:
    """One forward pass: rows each weight matrix saw, pairs that each mask let through.

    ``rows_by_matrix`` is keyed by where the matrix lies in memory.
    """

    rows_by_matrix: Counter[int] = field(default_factory=Counter)
    pairs_by_layer: list[int] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Token rows through each linear layer.

        Raises:
            ValueError: some matrix saw more rows than another, as experts do.
        """
        return _same("rows", self.rows_by_matrix.values())

    @property
    def pairs(self) -> int:
        """Query–key pairs of one layer and head.

        Raises:
            ValueError: the layers did not see the same.
        """
        return _same("pairs", self.pairs_by_layer)


def _same(what: str, counts: Any) -> int:
    different = sorted(set(counts))
    if len(different) != 1:
        raise ValueError(f"{what} must be the same everywhere, got {different}")
    return int(different[0])


class Tally:
    """The passes of everything that runs under :meth:`on`, and their FLOPs."""

    def __init__(self) -> None:
        self.passes: list[Pass] = []
        self.meter = Meter()

    def on(self, run: Execution = PLAIN) -> Execution:
        """``run``, with this tally looking on."""

        def linear(left: Array, right: Array) -> Array:
            self.passes[-1].rows_by_matrix[right.ctypes.data] += len(left)
            return run.linear(left, right)

        def see(mask: Mask) -> None:
            self.passes[-1].pairs_by_layer.append(int(np.count_nonzero(mask)))
            run.see(mask)

        def note(name: str, axes: str, array: npt.NDArray[Any]) -> None:
            if name == "token ids":  # the first thing that a pass notes
                self.passes.append(Pass())
            run.note(name, axes, array)

        return self.meter.on(replace(run, linear=linear, see=see, note=note))

    @property
    def rows(self) -> int:
        """Rows through each linear layer, over all passes."""
        return sum(each.rows for each in self.passes)

    @property
    def pairs(self) -> int:
        """Query–key pairs of one layer and head, over all passes."""
        return sum(each.pairs for each in self.passes)

    @property
    def flops(self) -> int:
        """FLOPs of linear layers, and of attention where the mask lets it see."""
        return self.meter.linear_flops + self.meter.useful_attn_flops
