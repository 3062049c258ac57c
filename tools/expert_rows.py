"""Choose the measured runs of mixtures of experts that the book is scored on, blind.

    python tools/expert_rows.py silicon_sample.csv > expert_rows.csv

The table is the one of aiconfigurator-core (Apache-2.0), of which the dense rows come
too. What is taken is decided here by settings alone, before any time was looked at:

- the three models whose shapes the catalog has, on H100, H200 and B200;
- prompts and outputs in one place ("agg"), one tensor-parallel group of at most eight
  GPUs, attention not in copies, experts cut over just these GPUs, by whichever axis;
- no run of gpt-oss on H100 at 512 clients or more: its server was out of cache;
- each run once, however many labels it has.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from llmserve_lab.validation.experts import COLUMNS, LARGEST_TP, SHAPES, named
from llmserve_lab.validation.rows import SYSTEMS

CLIENTS = re.compile(r"silicon_concurrency=(\d+)")
MOST_CLIENTS_OF_GPT_OSS = 511  # on H100


def chosen(lines: Iterable[Mapping[str, str]]) -> list[tuple[str, ...]]:
    """The runs, in :data:`COLUMNS`, in the order of the table."""
    runs = dict[tuple[str, ...], None]()
    for line in lines:
        model = named(line["model_path"])
        found = CLIENTS.search(line["silicon_data_source"])
        if model not in SHAPES or line["system"] not in SYSTEMS or found is None:
            continue
        if line["mode"] != "agg" or line["attention_dp_size"] not in ("", "1"):
            continue
        tp, clients = int(line["tp_size"]), int(found[1])
        if tp > LARGEST_TP or int(line["moe_tp_size"]) * int(line["moe_ep_size"]) != tp:
            continue
        of_gpt_oss = "gpt-oss" in model and line["system"] == "h100_sxm"
        if of_gpt_oss and clients > MOST_CLIENTS_OF_GPT_OSS:
            continue
        times = (
            f"{float(line[f'silicon_{each}_ms']):.6g}" for each in ("ttft", "tpot")
        )
        settings = (model, line["system"], line["backend"], line["precision"], str(tp))
        runs[(*settings, line["isl"], line["osl"], str(clients), *times)] = None
    return list(runs)


def main(path: Path) -> None:
    """Write the chosen runs of a table to standard output."""
    with path.open(newline="", encoding="utf-8") as lines:
        runs = chosen(csv.DictReader(lines))
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerows([COLUMNS, *runs])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
