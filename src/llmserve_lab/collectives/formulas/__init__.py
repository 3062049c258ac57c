"""What a collective sends: closed forms, checked against executed collectives."""

from llmserve_lab.collectives.formulas.collectives import *  # noqa: F403
from llmserve_lab.collectives.formulas.collectives import (
    ALONE as ALONE,
)
from llmserve_lab.collectives.formulas.collectives import (
    EQUAL as EQUAL,
)
from llmserve_lab.collectives.formulas.collectives import (
    UNIFORM as UNIFORM,
)
