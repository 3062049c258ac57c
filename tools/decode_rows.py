"""Choose the measured decode runs of DeepSeek-R1 that the twin is scored on, blind.

    python tools/decode_rows.py benchmarks.json history.json … > decode_rows.csv

The files are what InferenceX's site answers about "dsr1", a list of runs each, newest
benchmark first. What is taken is decided here by settings alone, before any time was
looked at:

- prefill elsewhere, no drafts, attention in copies over one group of at least four
  GPUs that is the expert-parallel group too, on H100, H200, B200 and GB200: what the
  runs are like that the twin's host time was read off;
- at least one request for each GPU that decodes;
- each setting once: from the first file that has it, there the latest date. The files
  with means come first, those with medians alone after them;
- nothing that was seen: the settings of the runs calibrated on, and SGLang's on H200 at
  1,024 and 1,024 tokens, two of which stand in the catalog.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from llmserve_lab.catalog.evidence.decode_runs import DECODE_RUNS
from llmserve_lab.deepseek.evaluation.decode_scores import COLUMNS, SYSTEMS

HARDWARE = {
    "h100": "h100_sxm",
    "h200": "h200_sxm",
    "b200": "b200_sxm",
    "gb200": "gb200",
}
ENGINES = {"dynamo-trt": "trtllm", "dynamo-sglang": "sglang"}
SMALLEST_GROUP = 4  # fewer GPUs do not hold the weights with attention in copies
ALIKE = 0.02  # in the requests on a GPU, which the calibrated runs have rounded
STATISTICS = ("mean", "median")
Key = tuple[object, ...]


def chosen(files: Iterable[Iterable[Mapping[str, Any]]]) -> list[tuple[object, ...]]:
    """The runs, in :data:`COLUMNS` and then statistic and date, sorted by setting."""
    taken = dict[Key, tuple[object, ...]]()
    for runs in files:
        found = dict[Key, tuple[object, ...]]()
        for run in sorted(runs, key=lambda run: str(run["date"])):
            if _is_of_the_kind(run) and not _was_seen(setting := _setting(run)):
                place = run["prefill_tp"], run["num_prefill_gpu"], run["num_decode_gpu"]
                found[(*setting, *place)] = (*setting, *_times(run))
        taken = found | taken
    return [taken[key] for key in sorted(taken, key=str)]


def _is_of_the_kind(run: Mapping[str, Any]) -> bool:
    one_group = run["decode_dp_attention"] and run["decode_tp"] == run["decode_ep"]
    return (
        run["model"] == "dsr1"
        and run["disagg"]
        and run["spec_method"] == "none"
        and run["hardware"] in HARDWARE
        and run["framework"] in ENGINES
        and one_group
        and run["decode_ep"] >= SMALLEST_GROUP
        and run["conc"] >= run["num_decode_gpu"]
    )


def _setting(run: Mapping[str, Any]) -> tuple[object, ...]:
    """The columns up to the requests on a GPU."""
    group = run["decode_ep"]
    return (
        HARDWARE[run["hardware"]], ENGINES[run["framework"]], run["precision"],
        run["isl"], run["osl"], group, group, run["conc"] / run["num_decode_gpu"],
    )  # fmt: skip


def _was_seen(setting: tuple[Any, ...]) -> bool:
    system, engine, precision, prompt, output, ep, _, requests = setting
    if (system, engine, prompt, output) == ("h200_sxm", "sglang", 1024, 1024):
        return True
    place = SYSTEMS[system], engine, precision, prompt, output, ep
    return any(
        place
        == (
            each.accelerator, each.engine, each.precision,
            each.prompt_tokens, each.output_tokens, each.ep,
        )
        and abs(each.requests_per_gpu / requests - 1) <= ALIKE
        for each in DECODE_RUNS
    )  # fmt: skip


def _times(run: Mapping[str, Any]) -> tuple[object, ...]:
    """Milliseconds to the first token and of each after it; of what, and of when."""
    found = run["metrics"]
    of = next(each for each in STATISTICS if f"{each}_tpot" in found)
    times = (f"{1e3 * found[f'{of}_{each}']:.6g}" for each in ("ttft", "tpot"))
    return (*times, of, run["date"])


def main(paths: Iterable[Path]) -> None:
    """Write the chosen runs of some files to standard output."""
    runs = chosen(json.loads(path.read_text(encoding="utf-8")) for path in paths)
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerows([(*COLUMNS, "statistic", "date"), *runs])


if __name__ == "__main__":
    main(map(Path, sys.argv[1:]))
