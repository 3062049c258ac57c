"""Write the record of the simulations: ``python -m llmserve_lab.disaggregation``.

About three minutes on one core.
"""

from __future__ import annotations

import json

from llmserve_lab.disaggregation import capacity_sim, goodput
from llmserve_lab.disaggregation.record import RECORD


def written() -> str:
    """The whole record, a rate on each line: what changes can be read."""
    found = {"goodput": goodput.simulated_all(), "backlog": capacity_sim.carried_all()}
    text = json.dumps(found, indent=0)
    return text.replace(",\n", ", ").replace("], ", "],\n") + "\n"


if __name__ == "__main__":
    RECORD.parent.mkdir(exist_ok=True)
    RECORD.write_text(written(), "utf8")
