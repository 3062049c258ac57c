"""Choose the measured runs of the third blind trial.

    python tools/third_rows.py silicon_sample.csv benchmarks.json … GLM-4.6.md …

writes them to standard output. The table and the JSON files are those of
``latent_rows.py``, of which no such run was taken before; the pages are those of
SGLang's cookbook (sgl-project/sgl-cookbook, Apache-2.0), docs/autoregressive. What is
taken is decided here by settings alone, before any time was looked at:

- models that no run was ever looked at of: Qwen3.5-397B-A17B from the table,
  Qwen3-Coder-Next, GLM-4.6 and GLM-4.7-Flash from the cookbook. The goal is judged on
  these. Beside them, runs of known models elsewhere: on B300 (MiniMax-M2.5 and
  Kimi-K2.5 from the table, DeepSeek-R1 from InferenceX's answers), and from the
  cookbook on known GPUs;
- of one node and group, without drafts, attention in copies, or runs in progress, as
  in the second trial. The table does not say of Qwen3.5 whether there were drafts: its
  runs on B300, and those in FP8 on four B200 without a cut of whole experts, may have
  had some, since InferenceX began with and without on the same days; on the others it
  began with drafts later;
- of the cookbook: prompts of random tokens, whose sum is the one that the client's
  seed gives; a page with the server's command, on NVIDIA's GPUs that are known. The
  first GPU of a line is meant: others were added later, the figures stayed;
- each setting once, the latest date; of one date means before medians.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from cookbook import PrintedRun, runs
from latent_rows import Run, of_inferencex, of_table, write
from llmserve_lab.validation.third_rows import (
    COOKBOOK,
    COOKBOOK_SEED,
    INFERENCEX,
    cookbook_prompts,
)
from llmserve_lab.validation.third_trial import COLUMNS

QWEN = "Qwen/Qwen3.5-397B-A17B"
ON_B300 = {
    "moonshotai/kimi-k2.5": "moonshotai/Kimi-K2.5",
    "minimaxai/minimax-m2.5": "MiniMaxAI/MiniMax-M2.5",
}
KNOWN = {"h100_sxm", "h200_sxm", "b200_sxm"}
# What the cookbook serves, by the name in its commands, and its precision.
SERVED = {
    "zai-org/GLM-4.6": ("zai-org/GLM-4.6", "bf16"),
    "zai-org/GLM-4.7-Flash": ("zai-org/GLM-4.7-Flash", "bf16"),
    "Qwen/Qwen3-Coder-Next": ("Qwen/Qwen3-Coder-Next", "bf16"),
    "Qwen/Qwen3-235B-A22B-Instruct-2507": ("Qwen/Qwen3-235B-A22B", "bf16"),
    "deepseek-ai/DeepSeek-R1-0528": ("deepseek-ai/DeepSeek-R1-0528", "fp8"),
    "moonshotai/Kimi-K2.5": ("moonshotai/Kimi-K2.5", "int4"),
    "moonshotai/Kimi-K2.6": ("moonshotai/Kimi-K2.6", "int4"),
    "MiniMaxAI/MiniMax-M2.5": ("MiniMaxAI/MiniMax-M2.5", "fp8"),
}
GPU = re.compile(r"(H100|H200|B200)\b")
OTHERWISE = ("speculative-algorithm", "enable-dp-attention", "dp", "quantization")
TIMES = ("Mean TTFT (ms)", "Mean TPOT (ms)")


def _refused(why: str) -> Run:
    return Run((), "", (), why)


def of_line(line: Mapping[str, str]) -> Run:
    """A line of the table: Qwen3.5 anywhere, or a known model on B300."""
    if line["system"] == "b300_sxm":
        run = of_table(line, ON_B300, ("b300_sxm",))
        return run._replace(refused="drafts, or may be") if _is_qwen(line) else run
    run = of_table(line, {QWEN.lower(): QWEN}, KNOWN)
    place = line["system"], line["precision"], line["tp_size"], line["moe_ep_size"]
    if not run.refused and place == ("b200_sxm", "fp8", "4", "1"):
        return _refused("drafts, or may be")
    return run


def _is_qwen(line: Mapping[str, str]) -> bool:
    return bool(line["model_path"] == QWEN)


def of_page(run: PrintedRun) -> Run:
    """A result of a page of the cookbook."""
    server, client, printed = run.server, run.client, run.printed
    gpu = GPU.search(run.hardware.split(",")[0])
    if gpu is None:
        return _refused("another model or GPU")
    name = server.get("model-path", server.get("model", ""))
    if name not in SERVED:
        return _refused("another model or GPU")
    if any(each in server for each in OTHERWISE):
        return _refused("drafts, copies, or another precision")
    lengths = ("random-input-len", "random-output-len", "max-concurrency")
    if client.get("dataset-name") != "random" or any(k not in client for k in lengths):
        return _refused("other requests")
    prompt_len, output_len, clients = (int(client[each]) for each in lengths)
    count = cookbook_prompts(clients)
    drawn = np.random.RandomState(COOKBOOK_SEED).randint(1, prompt_len + 1, count)
    said = int(client["num-prompts"]), int(printed["Total input tokens"])
    if said != (count, int(drawn.sum())):
        return _refused("other requests")
    model, precision = SERVED[name]
    tp = server.get("tp", server.get("tp-size", "1"))
    setting = (
        model, f"{gpu[1].lower()}_sxm", "sglang", precision, tp,
        server.get("ep", "1"), str(prompt_len), str(output_len), str(clients),
    )  # fmt: skip
    times = (f"{float(printed[each]):.6g}" for each in TIMES)
    return Run((*setting, COOKBOOK), "", (*times, "mean"))


def read(paths: Iterable[Path]) -> Iterator[Run]:
    """All runs of all files, in their order."""
    for path in paths:
        with path.open(newline="", encoding="utf-8") as lines:
            if path.suffix == ".md":
                yield from map(of_page, runs(lines.read()))
                continue
            found = (
                (of_inferencex(each, {"b300": "b300_sxm"}) for each in json.load(lines))
                if path.suffix == ".json"
                else map(of_line, csv.DictReader(lines))
            )
            for run in found:
                yield run._replace(setting=(*run.setting, INFERENCEX))


def main(paths: Iterable[Path]) -> None:
    """Write the chosen runs of the files, and what is left out and why."""
    write(COLUMNS, read(paths))


if __name__ == "__main__":
    main(map(Path, sys.argv[1:]))
