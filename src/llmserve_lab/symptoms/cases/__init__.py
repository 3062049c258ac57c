"""All cases of the chapter, one file a family, in the order of the page."""

from __future__ import annotations

from llmserve_lab.symptoms.case import Symptom
from llmserve_lab.symptoms.cases.caching import PREFIX
from llmserve_lab.symptoms.cases.experts import EXPERT
from llmserve_lab.symptoms.cases.latency import FIRST_TOKEN, SHORT
from llmserve_lab.symptoms.cases.many_gpus import GPUS, POOLS
from llmserve_lab.symptoms.cases.memory import IDLE_MATH, STORM
from llmserve_lab.symptoms.cases.speculation import SPECULATION
from llmserve_lab.symptoms.cases.streaming import BATCH, PAUSES

CASES: tuple[Symptom, ...] = (
    FIRST_TOKEN,
    SHORT,
    PAUSES,
    BATCH,
    STORM,
    IDLE_MATH,
    PREFIX,
    SPECULATION,
    GPUS,
    EXPERT,
    POOLS,
)


def case(key: str) -> Symptom:
    """The case of this key.

    Raises:
        ValueError: there is no such case.
    """
    for each in CASES:
        if each.key == key:
            return each
    raise ValueError(
        f"case must be one of {', '.join(each.key for each in CASES)}, got {key!r}"
    )
