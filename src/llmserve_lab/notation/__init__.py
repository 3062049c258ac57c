"""The whole book's notation: every letter here has this meaning everywhere.

One file a subject; a new chapter adds a file, or lines to one. Order matters: factors
and terms are printed in the order of the imports below, then in that of each file.
"""

# isort: skip_file
# ruff: noqa: F403
from __future__ import annotations

from llmserve_lab.formula.names import hand_in, quantity as quantity, rank as rank
from llmserve_lab.formula.quantity import Quantity, named_by_variable
from llmserve_lab.notation.coefficients import *
from llmserve_lab.notation.model import *
from llmserve_lab.notation.iteration import *
from llmserve_lab.notation.machine import *
from llmserve_lab.notation.roofline import *
from llmserve_lab.notation.collectives import *
from llmserve_lab.notation.tensor_parallel import *
from llmserve_lab.notation.end_to_end import *
from llmserve_lab.notation.varlen import *
from llmserve_lab.notation.flash_attention import *
from llmserve_lab.notation.afd import *
from llmserve_lab.notation.continuous_batching import *
from llmserve_lab.notation.kv_memory import *
from llmserve_lab.notation.disaggregation import *
from llmserve_lab.notation.moe import *
from llmserve_lab.notation.deepseek import *
from llmserve_lab.notation.speculative import *
from llmserve_lab.notation.how_wrong import *
from llmserve_lab.notation.parallelism import *
from llmserve_lab.notation.quantization import *
from llmserve_lab.notation.capacity import *
from llmserve_lab.notation.symptoms import *

_TABLE = named_by_variable(globals())


def table() -> dict[str, Quantity]:
    """Every quantity by code name, in the order of the book."""
    return _TABLE


hand_in(table)
