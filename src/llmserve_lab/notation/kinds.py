"""Kinds of quantities by their range, so that the tables stay short."""

from functools import partial

from llmserve_lab.formula.quantity import Quantity

Positive = partial(Quantity, positive=True)
Count = partial(Quantity, positive=True, whole=True)
Share = partial(Quantity, positive=True, maximum=1.0)
