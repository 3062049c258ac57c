"""The whole book's notation: every letter here has this meaning everywhere.

One file a subject; a new chapter adds a file, or lines to one. Order matters: factors
and terms are printed in the order of the imports below, then in that of each file.
"""

# isort: skip_file
# ruff: noqa: F403
from __future__ import annotations

from functools import cache

from llmserve_lab.book.quantity import Quantity
from llmserve_lab.book.notation.coefficients import *
from llmserve_lab.book.notation.model import *
from llmserve_lab.book.notation.iteration import *
from llmserve_lab.book.notation.machine import *
from llmserve_lab.book.notation.roofline import *
from llmserve_lab.book.notation.cluster import *
from llmserve_lab.book.notation.tensor_parallel import *
from llmserve_lab.book.notation.end_to_end import *
from llmserve_lab.book.notation.varlen import *
from llmserve_lab.book.notation.afd import *
from llmserve_lab.book.notation.chunked_prefill import *
from llmserve_lab.book.notation.disaggregation import *
from llmserve_lab.book.notation.moe import *
from llmserve_lab.book.notation.deepseek import *


@cache
def table() -> dict[str, Quantity]:
    """Every quantity by code name, in the order of the book."""
    found = [item for item in globals().values() if isinstance(item, Quantity)]
    return {item.name: item for item in found}


def quantity(name: str) -> Quantity:
    """Look up a quantity by code name.

    Raises:
        KeyError: the notation has no such name.
    """
    try:
        return table()[name]
    except KeyError:
        raise KeyError(f"name must be in the notation table, got {name!r}") from None


@cache
def rank(name: str) -> int:
    """Place of a quantity in the notation table: the order in which it is printed."""
    return list(table()).index(name)
