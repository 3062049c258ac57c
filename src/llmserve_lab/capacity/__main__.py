"""Write the record of the simulations: ``python -m llmserve_lab.capacity``.

About half an hour on one core.
"""

from __future__ import annotations

import json

from llmserve_lab.capacity import (
    budget,
    headroom,
    levers,
    mlperf,
    pools,
    runs,
    sweep,
)
from llmserve_lab.capacity.record import RECORD


def written() -> str:
    """The whole record, a run on each line: what changes can be read."""
    found = {
        "triangle": sweep.traced_all(),
        "draws": sweep.draws(),
        "scaled": runs.scaled_all(),
        "headroom": headroom.tried(),
        "pools": pools.carried_all(),
        "hour": runs.hour_all(),
        "search": runs.searched_all(),
        "near": runs.near_all(),
        "mlperf": mlperf.compared(),
        "budget": budget.compared(),
        "levers": levers.compared(),
    }
    text = json.dumps(found, separators=(",", ":"))
    return text.replace("]],", "]],\n").replace("},", "},\n") + "\n"


if __name__ == "__main__":
    RECORD.write_text(written(), "utf8")
