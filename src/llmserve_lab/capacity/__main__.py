"""Write the record of the simulations: ``python -m llmserve_lab.capacity``.

With names, only these parts of it are made anew: ``... capacity caps charged``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from llmserve_lab.capacity import (
    at_goodput,
    budget,
    followed,
    headroom,
    levers,
    mlperf,
    pools,
    runs,
    sweep,
)
from llmserve_lab.capacity.record import RECORD, recorded
from llmserve_lab.checks import key_of

# In this order: what comes later reads what is already written.
PARTS: dict[str, Callable[[], Any]] = {
    "triangle": sweep.traced_all,
    "draws": sweep.draws,
    "scaled": runs.scaled_all,
    "headroom": headroom.tried,
    "pools": pools.carried_all,
    "hour": runs.hour_all,
    "search": runs.searched_all,
    "near": runs.near_all,
    "mlperf": mlperf.compared,
    "budget": budget.compared,
    "levers": levers.compared,
    "caps": at_goodput.caps_all,
    "charged": at_goodput.charged_all,
    "latencies": at_goodput.latencies_all,
    "loads": at_goodput.loads_all,
    "few": at_goodput.few_all,
    "best": at_goodput.best_all,
    "own": levers.own_traffic,
    "followed": followed.tried,
}


def written(found: dict[str, Any]) -> str:
    """The whole record, a run on each line: what changes can be read."""
    text = json.dumps(found, separators=(",", ":"))
    return text.replace("]],", "]],\n").replace("},", "},\n") + "\n"


def write(names: Sequence[str]) -> None:
    """Make the named parts, all by default, and store each as soon as it is known.

    Raises:
        ValueError: a name is not that of a part.
    """
    for name in names or PARTS:
        key_of("name", name, PARTS)
    for name, made in PARTS.items():
        if name in (names or PARTS):
            RECORD.write_text(written({**recorded(), name: made()}), "utf8")
            recorded.cache_clear()


if __name__ == "__main__":
    write(sys.argv[1:])
