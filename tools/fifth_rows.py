"""Choose the measured runs of the fifth blind trial.

    python tools/fifth_rows.py FOLDER > fifth_rows.csv

FOLDER has a checkout of each source under its own name:

- ``sgl-cookbook`` (sgl-project, Apache-2.0), pages of docs/autoregressive;
- ``deplodock`` (cloudrift-ai, Apache-2.0), ``*_benchmark.txt`` in ``recipes``, which no
  trial had read;
- ``gpu-benchmark`` (Massed-Compute, no licence; figures are cited), ``results/raw``;
- ``Qwen2`` and ``Qwen3`` (QwenLM, no licence; figures are cited), the page on speed.

What is taken is decided here by settings alone, before any time was looked at:

- models that no run was ever looked at of: Gemma-4-26B-A4B, Nemotron-3-Nano and
  Nemotron-3-Super, Laguna-XS.2, DeepSeek-V4-Flash and DeepSeek-V4-Pro, Qwen2-57B-A14B;
  and Qwen3.6-35B-A3B, whose shape is that of Qwen3.5-35B-A3B, of which one run was
  seen by accident. Beside them, known shapes on a GPU that no trial had:
  Qwen3-30B-A3B (as Qwen3-Coder-30B-A3B) and Qwen3-235B-A22B on H20;
- GPUs of the catalog, and of those with several devices only over NVLink; one
  tensor-parallel group, no attention in copies, no drafts;
- servers whose command is told, or a line of the page says what it would, with BF16,
  FP8 or FP4 weights; what was left at a default is the engine's;
- closed loops in which all requests were answered, as long as was asked. Where lengths
  are drawn, ``lengths`` is ``uniform`` and the sums of prompts and of answers are those
  that the client's seed gives; else they are ``equal``, to two tokens a prompt;
- of pages on speed, one request at a time with a prompt of one token: its time over
  the answer's 2,048 tokens is taken for both times, and the statistic is ``speed``.
  Longer prompts would need the time of the prompt, which is not told;
- each setting once, the latest date.

Not taken: a run that says only aggregate tokens/s of prompts from a data set, runs with
image inputs, and GPUs that are named like a record of the catalog but are another card.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from cookbook import BEGINS, PRINTED, runs
from fourth_rows import of_file
from latent_rows import Run, write
from llmserve_lab.validation.fourth_trial import COLUMNS
from llmserve_lab.validation.third_rows import COOKBOOK_SEED

# As in the fourth trial, with a word on how lengths are spread.
FIFTH_COLUMNS = (*COLUMNS[:12], "lengths", *COLUMNS[12:])
TIMES = ("Mean TTFT (ms)", "Mean TPOT (ms)")
ASKED = 1024  # tokens at most, of prompts and of answers: SGLang's default
SGLANG_SLOTS, VLLM_SLOTS, VLLM_LARGE_SLOTS = "4096", "256", "1024"

# What the cookbook serves: by its command, or by the heading of a section.
PAGES = {
    "NVIDIA/Nemotron3-Nano.md": {
        "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-FP8": "fp8",
        "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "bf16",
    },
    "NVIDIA/Nemotron3-Super.md": {
        "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16": "bf16",
    },
}
GPU = re.compile(r"(H100|H200|B200)\b")
VARIANT = re.compile(r"-(?:BF16|FP8)$")
GEMMA = "Google/Gemma4.md"
GEMMA_HEADING = "#### gemma-4-26B-A4B-it (MoE, 1x H200, TP=1)\n"
GEMMA_SETTING = ("google/gemma-4-26B-A4B-it", "h200_sxm", "sglang", "bf16", "1", "1")
# What deplodock serves, by the end of its name.
RECIPES = {
    "DeepSeek-V4-Flash": ("deepseek-ai/DeepSeek-V4-Flash", "fp4"),
    "DeepSeek-V4-Pro-NVFP4": ("deepseek-ai/DeepSeek-V4-Pro", "fp4"),
    "Qwen3.6-35B-A3B-FP8": ("Qwen/Qwen3.6-35B-A3B", "fp8"),
    "Qwen3.6-35B-A3B": ("Qwen/Qwen3.6-35B-A3B", "bf16"),
}
LAGUNA = "results/raw/laguna-xs-2"
LAGUNA_GPUS = {"gpu_1x_pro_6000_blackwell": "rtx_pro_6000"}
LAGUNA_LEN = 128  # tokens of a prompt and of an answer, as the README says
MADE = 2048  # tokens of an answer, as both pages on speed say
QWEN2_LINE = re.compile(
    r"^\| Qwen2-57B-A14B-Instruct +\| 1 +\| BF16 +\| (\d) +\|(.*)\|$"
)
QWEN3 = {
    "Qwen3-30B-A3B": "Qwen/Qwen3-30B-A3B",
    "Qwen3-235B-A22B": "Qwen/Qwen3-235B-A22B",
}
CELL = re.compile(r"<td[^>]*>(.*?)</td>")


def _refused(why: str) -> Run:
    return Run((), "", (), why)


def as_drawn(setting: tuple[str, ...], slots: str, printed: Mapping[str, str]) -> Run:
    """A result of SGLang's client, if its requests are those that the seed gives."""
    clients = int(float(printed["Max request concurrency"]))
    count = int(printed["Successful requests"])
    drawn = np.random.RandomState(COOKBOOK_SEED)
    sums = [int(drawn.randint(1, ASKED + 1, count).sum()) for _ in range(2)]
    if int(printed.get("Total input vision tokens", "0")):
        return _refused("images")
    if int(printed["Total input tokens"]) != sums[0]:
        return _refused("other prompts")
    if int(printed["Total generated tokens"]) != sums[1]:
        return _refused("other answers")
    lengths = str(ASKED), str(ASKED), str(clients), str(count), slots
    times = (f"{float(printed[each]):.6g}" for each in TIMES)
    return Run((*setting, *lengths, "bf16", "uniform"), "", (*times, "mean"))


def of_cookbook(folder: Path) -> Iterator[Run]:
    """Runs of the pages whose every result has its commands before it, and Gemma's."""
    for name, served in PAGES.items():
        for run in runs((folder / name).read_text("utf8")):
            model = run.server.get("model-path", "")
            gpu = GPU.search(run.hardware)
            if model not in served or gpu is None:
                yield _refused("another model or GPU")
                continue
            asked = {run.client[f"random-{each}-len"] for each in ("input", "output")}
            if asked != {str(ASKED)}:
                yield _refused("other requests")
                continue
            setting = (
                VARIANT.sub("", model), f"{gpu[1].lower()}_sxm", "sglang",
                served[model], run.server.get("tp", "1"), "1",
            )  # fmt: skip
            slots = run.server.get("max-running-requests", SGLANG_SLOTS)
            yield as_drawn(setting, slots, run.printed)
    _, _, after = (folder / GEMMA).read_text("utf8").partition(GEMMA_HEADING)
    section, _, _ = after.partition("\n#### ")
    for block in section.split(BEGINS)[1:]:
        found = (PRINTED.match(line.strip()) for line in block.splitlines())
        printed = {each[1]: each[2] for each in found if each}
        yield as_drawn(GEMMA_SETTING, SGLANG_SLOTS, printed)


def of_recipes(folder: Path) -> Iterator[Run]:
    """Runs as in the fourth trial, from the files that it did not read."""
    for path in sorted(folder.rglob("*_benchmark.txt")):
        name, text = str(path.relative_to(folder)), path.read_text("utf8")
        run = of_file(name, text, RECIPES)
        yield run if run.refused else run._replace(setting=(*run.setting, "equal"))


def of_laguna(folder: Path) -> Iterator[Run]:
    """Runs of vLLM's client, a file each."""
    for path in sorted(folder.rglob("vllm-c*.json")):
        system = LAGUNA_GPUS.get(path.parent.name)
        if system is None:
            yield _refused("another model or GPU")
            continue
        found = json.loads(path.read_text("utf8"))
        count = found["num_prompts"]
        if found["completed"] != count or found["total_output_tokens"] != (
            count * LAGUNA_LEN
        ):
            yield _refused("requests that failed, or other answers")
            continue
        if abs(found["total_input_tokens"] / count - LAGUNA_LEN) > 2:
            yield _refused("other prompts")
            continue
        setting = (
            found["model_id"], system, "vllm", "bf16", "1", "1", str(LAGUNA_LEN),
            str(LAGUNA_LEN), str(found["max_concurrency"]), str(count),
            VLLM_LARGE_SLOTS, "bf16", "equal",
        )  # fmt: skip
        times = (f"{found[f'mean_{each}_ms']:.6g}" for each in ("ttft", "tpot"))
        yield Run(setting, found["date"][:10], (*times, "mean"))


def _alone(setting: tuple[str, ...], slots: str, seconds: float) -> Run:
    """One request after a prompt of one token, that took so many ``seconds``."""
    tpot = f"{1e3 * seconds / MADE:.6g}"
    asked = "1", str(MADE), "1", "1", slots, "bf16", "equal"
    return Run((*setting, *asked), "", (tpot, tpot, "speed"))


def of_qwen2(page: str) -> Iterator[Run]:
    """Runs of vLLM, of Qwen2-57B-A14B; the speed is in tokens of the answer."""
    _, _, after = page.partition("57B-A14B (vLLM)")
    for line in after.splitlines():
        if found := QWEN2_LINE.match(line):
            setting = (
                "Qwen/Qwen2-57B-A14B", "a100_80_sxm", "vllm", "bf16", found[1], "1",
            )  # fmt: skip
            yield _alone(setting, VLLM_SLOTS, MADE / float(found[2]))


def of_qwen3(page: str) -> Iterator[Run]:
    """Runs of SGLang; the speed is in tokens of prompt and answer together."""
    page = page.replace("\N{NO-BREAK SPACE}", " ")  # as its headings have them
    for name, model in QWEN3.items():
        _, _, after = page.partition(f"### {name} (SGLang)")
        table, _, _ = after.partition("\n### ")
        length = ""
        for row in table.split("<tr>")[1:]:
            cells = CELL.findall(row)
            if len(cells) > 4:  # the first of a length, which spans the rows after it
                length = cells[-5]
            if len(cells) < 4:
                continue
            precision, devices, speed = (each.strip() for each in cells[-4:-1])
            if length != "1":
                yield _refused("a prompt whose time is not told")
            elif precision not in ("BF16", "FP8"):
                yield _refused("another precision")
            else:
                setting = (
                    model, "h20_sxm", "sglang", precision.lower(), devices, "1",
                )  # fmt: skip
                yield _alone(setting, SGLANG_SLOTS, (1 + MADE) / float(speed))


def read(folder: Path) -> Iterator[Run]:
    """All runs of all sources."""
    yield from of_cookbook(folder / "sgl-cookbook/docs/autoregressive")
    yield from of_recipes(folder / "deplodock/recipes")
    yield from of_laguna(folder / "gpu-benchmark" / LAGUNA)
    speed = "docs/source/benchmark/speed_benchmark.rst"
    yield from of_qwen2((folder / "Qwen2" / speed).read_text("utf8"))
    speed = "docs/source/getting_started/speed_benchmark.md"
    yield from of_qwen3((folder / "Qwen3" / speed).read_text("utf8"))


def main(folder: Path) -> None:
    """Write the chosen runs, and what is left out and why."""
    write(FIFTH_COLUMNS, read(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
