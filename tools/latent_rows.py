"""Choose the measured runs of mixtures with latent attention that are scored, blind.

    python tools/latent_rows.py silicon_sample.csv benchmarks.json … > latent_rows.csv

The JSON files are what InferenceX's site answers about "dsr1", DeepSeek-R1-0528, a list
of runs each; the table is aiconfigurator's, which holds InferenceX's runs of other
models. What is taken is decided here by settings alone, before any time was looked at:

- DeepSeek-R1 from InferenceX, which says of each run whether drafts were used; the
  table does not say it, so none of its rows of DeepSeek is taken;
- Kimi-K2.5, which has no layer that drafts, and GLM-5, from the table. InferenceX ran
  GLM-5 with drafts from April 2026 on; runs of this model are of before;
- H100, H200 and B200 from one node: prompts and answers in one place, no drafts, one
  tensor-parallel group, attention not in copies, experts cut by whichever axis;
- vLLM, SGLang and TensorRT-LLM without a layer of Dynamo before them;
- only runs that say when they were measured, and none that is said to be in progress;
- each setting once, the latest date of all files; of one date means before medians,
  and then what stands last.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from llmserve_lab.validation.experts import LARGEST_TP, PRECISIONS
from llmserve_lab.validation.rows import SYSTEMS
from llmserve_lab.validation.second_trial import COLUMNS

HARDWARE = {"h100": "h100_sxm", "h200": "h200_sxm", "b200": "b200_sxm"}
ENGINES = {"trt": "trtllm", "sglang": "sglang", "vllm": "vllm"}
MODELS = {
    "moonshotai/kimi-k2.5": "moonshotai/Kimi-K2.5",
    "zhipuai/glm-5": "zai-org/GLM-5",
}
LAST_WITHOUT_DRAFTS = {"zai-org/GLM-5": "2026-04-06"}  # later runs may have drafts
CLIENTS = re.compile(r"silicon_concurrency=(\d+)")
MEASURED = re.compile(r"measured=(\d{4}-\d{2}-\d{2})")
STATISTICS = ("mean", "median")
Setting = tuple[str, ...]


class Run(NamedTuple):
    """A run's setting, when it was measured, and milliseconds; or why it is refused."""

    setting: Setting
    date: str
    times: tuple[str, ...]
    refused: str = ""

    @property
    def rank(self) -> tuple[str, bool]:
        """What is taken of a setting's runs has the highest."""
        return self.date, self.times[-1] == "mean"


def _refused(why: str) -> Run:
    return Run((), "", (), why)


def of_inferencex(
    run: Mapping[str, Any], hardware: Mapping[str, str] = HARDWARE
) -> Run:
    """A run as InferenceX's site answers it, on one of the GPUs."""
    if run["model"] != "dsr1" or run["hardware"] not in hardware:
        return _refused("another model or GPU")
    if run["disagg"] or run["is_multinode"]:
        return _refused("prefill elsewhere, or several nodes")
    if run["spec_method"] != "none":
        return _refused("drafts")
    if run["framework"] not in ENGINES:
        return _refused("another engine")
    if run["decode_dp_attention"]:
        return _refused("attention in copies")
    if run["decode_ep"] not in (1, run["decode_tp"]) or run["decode_tp"] > LARGEST_TP:
        return _refused("no one group of a node")
    found = run["metrics"]
    of = next((s for s in STATISTICS if f"{s}_tpot" in found), None)
    if of is None:
        return _refused("no mean or median")
    setting = (
        "deepseek-ai/DeepSeek-R1-0528", hardware[run["hardware"]],
        ENGINES[run["framework"]], run["precision"], str(run["decode_tp"]),
        str(run["decode_ep"]), str(run["isl"]), str(run["osl"]), str(run["conc"]),
    )  # fmt: skip
    times = (f"{1e3 * found[f'{of}_{each}']:.6g}" for each in ("ttft", "tpot"))
    return Run(setting, str(run["date"])[:10], (*times, of))


def of_table(
    line: Mapping[str, str],
    models: Mapping[str, str] = MODELS,
    systems: Iterable[str] = SYSTEMS,
) -> Run:
    """A line of aiconfigurator's table; it does not say which statistic a time is."""
    model = models.get(line["model_path"].lower())
    if model is None or line["system"] not in systems:
        return _refused("another model or GPU")
    if line["mode"] != "agg":
        return _refused("prefill elsewhere, or several nodes")
    if line["backend"] not in ENGINES.values():
        return _refused("another engine")
    if line["attention_dp_size"] not in ("", "1"):
        return _refused("attention in copies")
    tp, ep = int(line["tp_size"]), int(line["moe_ep_size"])
    if tp > LARGEST_TP or int(line["moe_tp_size"]) * ep != tp or ep not in (1, tp):
        return _refused("no one group of a node")
    said = line["silicon_data_source"]
    date, clients = MEASURED.search(said), CLIENTS.search(said)
    if date is None or clients is None or "wip=True" in said:
        return _refused("no date, or in progress")
    if date[1] > LAST_WITHOUT_DRAFTS.get(model, date[1]):
        return _refused("drafts")
    precision = PRECISIONS.get(line["precision"], line["precision"])
    setting = (
        model, line["system"], line["backend"], precision, str(tp), str(ep),
        line["isl"], line["osl"], clients[1],
    )  # fmt: skip
    times = (f"{float(line[f'silicon_{each}_ms']):.6g}" for each in ("ttft", "tpot"))
    return Run(setting, date[1], (*times, "unknown"))


def chosen(runs: Iterable[Run]) -> tuple[list[Setting], Counter[str]]:
    """The runs in :data:`COLUMNS`, sorted by setting, and counts of what is not taken.

    A setting that comes again is counted as ``"repeated"``.
    """
    taken, left_out = dict[Setting, Run](), Counter[str]()
    for run in runs:
        if run.refused:
            left_out[run.refused] += 1
            continue
        before = taken.get(run.setting)
        left_out["repeated"] += before is not None
        if before is None or run.rank >= before.rank:
            taken[run.setting] = run
    rows = [(*key, *taken[key].times, taken[key].date) for key in sorted(taken)]
    return rows, left_out


def read(paths: Iterable[Path]) -> Iterator[Run]:
    """All runs of all files, in their order."""
    for path in paths:
        with path.open(newline="", encoding="utf-8") as lines:
            if path.suffix == ".json":
                yield from map(of_inferencex, json.load(lines))
            else:
                yield from map(of_table, csv.DictReader(lines))


def main(paths: Iterable[Path]) -> None:
    """Write the chosen runs of the files, and what is left out and why."""
    write(COLUMNS, read(paths))


def write(columns: Sequence[str], runs: Iterable[Run]) -> None:
    """Write the chosen runs to standard output, and what is left out to the other."""
    rows, left_out = chosen(runs)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerows([columns, *rows])
    for why, count in sorted(left_out.items()):
        print(f"left out: {count}, {why}", file=sys.stderr)


if __name__ == "__main__":
    main(map(Path, sys.argv[1:]))
