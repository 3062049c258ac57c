"""How wrong is the book? Predictions beside measured rows, and the error of each kind.

``band(kind, setting)`` says how far off predictions like one have been; ``achieved()``
is the machine that the rows were fitted with, beside the datasheet's.

>>> from llmserve_lab import validation
>>> setting = validation.Setting(
...     params=8e9, tp=1, clients=16, prompt_len=1000, output_len=500,
...     precision="bf16", generation="Hopper",
... )
>>> found = validation.band("tpot", setting)
>>> -1 < found.low < 0 < found.high < 1          # predicted / measured - 1
True
"""

from llmserve_lab.formula.band import Band, Limit, Unmeasured
from llmserve_lab.validation.bands import NEAREST, band, datasheet_bound, spread
from llmserve_lab.validation.cache_blocks import working_space
from llmserve_lab.validation.constants import (
    DATASHEET,
    ServingConstants,
    achieved,
    stored,
)
from llmserve_lab.validation.prediction import Predictor, Times, errors
from llmserve_lab.validation.room import (
    library_bytes,
    requests_that_fit,
    slot_bytes,
    working_bytes,
)
from llmserve_lab.validation.rows import MeasuredRow, dense_rows, sort_rows
from llmserve_lab.validation.scores import ErrorScore, left_out, score, scores
from llmserve_lab.validation.setting import Setting

__all__ = [
    "DATASHEET",
    "NEAREST",
    "Band",
    "ErrorScore",
    "Limit",
    "MeasuredRow",
    "Predictor",
    "ServingConstants",
    "Setting",
    "Times",
    "Unmeasured",
    "achieved",
    "band",
    "datasheet_bound",
    "dense_rows",
    "errors",
    "left_out",
    "library_bytes",
    "requests_that_fit",
    "score",
    "scores",
    "slot_bytes",
    "sort_rows",
    "spread",
    "stored",
    "working_bytes",
    "working_space",
]
