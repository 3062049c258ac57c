"""Choose the measured runs of the blind trial of dense models.

    python tools/dense_trial_rows.py FOLDER > dense_trial_rows.csv

FOLDER has a checkout of each source under its own name:

- ``LLM-Inference-Bench`` (argonne-lcf, BSD-3-Clause; commit 4211f5d), two tables in
  ``Plots``: vLLM of 2024 called in its own process, a batch of 1 to 64 requests at
  once, prompts and answers of one length, all answers as long as asked;
- ``Qwen2`` (QwenLM, commit f9fab85), ``Qwen2.5`` (the same repository as Qwen3, commit
  f4d356c) and ``Qwen3`` (commit 7a2f61f), no licence, figures are cited: the page on
  speed of each, one request at a time, answers of 2,048 tokens.

What is taken is decided here by settings alone, before any time was looked at:

- dense models that the records of shapes hold; of LLM-Inference-Bench those that its
  README says it evaluates, since others are there at one setting alone;
- GPUs of the catalog: H100 SXM (as ``H100 80GB HBM3`` is called), H20, and the A100 of
  80 GB, which is taken for the SXM one as in the fifth trial of mixtures;
- vLLM and SGLang with weights in BF16, FP16 or FP8 and CUDA graphs, which are the
  default, and no drafts;
- the time of an answer over its tokens. The tables have the time of a batch. The pages
  have a speed: of the answer's tokens (Qwen2, Qwen2.5, as its script says), or of
  prompt and answer together (Qwen3). What the page on Qwen2 counts of a longer prompt
  it does not say: of it prompts of one token are taken, of the others those up to
  30,720 tokens, beyond which servers were set differently;
- runs whose requests the cache holds all at their full length: what an engine does when
  it must drop one is in no prediction of the book;
- each setting once, what stands first: the table of all runs before that of precisions.

Not taken, and counted: other engines (TensorRT-LLM there runs an example's session, in
which an answer may end early), A100 and GH200 of LLM-Inference-Bench (which A100 is
not told; no GH200 is in the catalog), INT4 and INT8 weights, ``enforce_eager``, and
what was seen by accident: all of Qwen3-0.6B. Looked at by settings and not taken as a
source: silybench-data (Qwen3-8B on H100: some of its rates were seen), Massed-Compute
(H100 are PCIe cards, and answers may end early), SGLang's cookbook (pages of dense
models do not name the GPU, or not which A100), LambdaLabsML/vllm-benchmark (all prompts
of a data set at once), and deplodock (one dense model, with linear attention).
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from latent_rows import Run
from llmserve_lab.validation.dense_trial import COLUMNS, trial_rows

ARGONNE = "llm-inference-bench"
EVALUATED = {
    "meta-llama/Llama-2-7b-hf": "meta-llama/Llama-2-7b",
    "meta-llama/Llama-2-70b-hf": "meta-llama/Llama-2-70b",
    "meta-llama/Meta-Llama-3-8B": "meta-llama/Meta-Llama-3-8B",
    "meta-llama/Meta-Llama-3-70B": "meta-llama/Meta-Llama-3-70B",
    "mistralai/Mistral-7B-v0.1": "mistralai/Mistral-7B-v0.1",
    "Qwen/Qwen2-7B": "Qwen/Qwen2-7B",
    "Qwen/Qwen2-72B": "Qwen/Qwen2-72B",
}
TABLES = ("All_results.csv", "Fig_3/A100_H100_quant_all_results.csv")
STORED = re.compile(r"Weight = fp(16|8), KV Cache = fp(16|8)")
BITS = {"16": "bf16", "8": "fp8"}
VLLM_SLOTS, SGLANG_SLOTS = "256", "4096"  # the engines' defaults
MADE, LONGEST = 2048, 30_720  # tokens of an answer, and of a prompt at most
SECTION = re.compile(r"^\s*-\s+(\S+B\S*) \((\w+)\)")
CELL = re.compile(r"<td[^>]*>(.*?)</td>")
SEEN = ("Qwen3-0.6B",)
EAGER = re.compile(r"setting ?[123]\b", re.I)
QWEN3 = ("Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B", "Qwen3-14B", "Qwen3-32B")


def _refused(why: str) -> Run:
    return Run((), "", (), why)


def _run(setting: tuple[str, ...], seconds: float, tokens: int) -> Run:
    """A run whose answers of so many ``tokens`` took so long, if the cache held it."""
    token_ms = f"{1e3 * seconds / tokens:.6g}"
    line = dict(zip(COLUMNS, (*setting, token_ms), strict=True))
    for why in trial_rows([line]).left_out:
        return _refused(why)
    return Run(setting, "", (token_ms,))


def of_batch(line: Mapping[str, str]) -> Run:
    """A line of a table: the time of a batch."""
    if line["Hardware"] != "Nvidia H100 GPU":
        return _refused("another GPU, or which is not told")
    if line["Framework"] != "vLLM":
        return _refused("another engine")
    if line["Model"] not in EVALUATED:
        return _refused("another model")
    stored = line.get("kv_cache_dtype", "Weight = fp16, KV Cache = fp16")
    found = STORED.fullmatch(stored)
    if found is None:
        return _refused("another precision")
    length, batch = line["Input Output Length"], line["Batch Size"]
    setting = (
        EVALUATED[line["Model"]], "h100_sxm", "vllm", BITS[found[1]],
        line["Num of Hardware"], length, length, batch, batch, VLLM_SLOTS,
        BITS[found[2]], ARGONNE,
    )  # fmt: skip
    seconds = float(line.get("Latency") or line["latency"])
    return _run(setting, seconds, int(length))


def of_tables(folder: Path) -> Iterator[Run]:
    """Runs of both tables, each setting once."""
    known = set[tuple[str, ...]]()
    for name in TABLES:
        with (folder / name).open(newline="", encoding="utf-8-sig") as lines:
            for run in map(of_batch, csv.DictReader(lines)):
                if not run.refused and run.setting in known:
                    yield _refused("a setting that stands above")
                    continue
                known.add(run.setting)
                yield run


def alone(
    model: str, where: tuple[str, str], stored: str, tp: str, prompt: str, s: float
) -> Run:
    """One request of ``s`` seconds, of an engine on a GPU; the source by the model."""
    slots = SGLANG_SLOTS if where[0] == "sglang" else VLLM_SLOTS
    source = model.partition("/")[2].partition("-")[0].lower()
    setting = (
        model, where[1], where[0], stored.lower(), tp, prompt, str(MADE), "1", "1",
        slots, "bf16", source,
    )  # fmt: skip
    return _run(setting, s, MADE)


def of_vllm_page(page: str, *, longest: int = LONGEST) -> Iterator[Run]:
    """Runs of vLLM; the first line of a prompt's length has it, those after it not."""
    engine, prompt, model = "", "", ""
    for line in page.splitlines():
        if found := SECTION.match(line):
            engine, prompt, model = found[2], "", ""
        cells = [each.strip() for each in line.strip().strip("|").split("|")]
        if engine != "vLLM" or not line.startswith("|") or len(cells) < 5:
            continue
        if cells[0] == "Model":
            continue
        model = cells[0].removesuffix("-Instruct") or model
        prompt = cells[1] or prompt
        stored, tp, speed, note = *cells[2:5], " ".join(cells[5:])
        yield _of_line(f"Qwen/{model}", prompt, stored, tp, speed, note, longest)


def _of_line(
    model: str, prompt: str, stored: str, tp: str, speed: str, note: str, longest: int
) -> Run:
    if stored != "BF16":
        return _refused("another precision")
    if "-A14B" in model:
        return _refused("a mixture of experts")
    if EAGER.search(note):
        return _refused("no CUDA graphs")
    if int(prompt) > longest:
        return _refused("a longer prompt")
    return alone(
        model, ("vllm", "a100_80_sxm"), stored, tp, prompt, MADE / float(speed)
    )


def of_qwen3(page: str) -> Iterator[Run]:
    """Runs of SGLang; the speed is in tokens of prompt and answer together."""
    page = page.replace("\N{NO-BREAK SPACE}", " ")
    for name in (*SEEN, *QWEN3):
        _, _, after = page.partition(f"### {name} (SGLang)")
        table, _, _ = after.partition("\n### ")
        prompt = ""
        for row in table.split("<tr>")[1:]:
            cells = [each.strip() for each in CELL.findall(row)]
            if len(cells) < 4:
                continue
            if len(cells) > 4:  # the first of a length, which spans the rows after it
                prompt = cells[-5]
            stored, tp, speed = cells[-4:-1]
            if name in SEEN:
                yield _refused("seen by accident")
            elif stored not in ("BF16", "FP8"):
                yield _refused("another precision")
            elif int(prompt) > LONGEST:
                yield _refused("a longer prompt")
            else:
                where, seconds = (
                    ("sglang", "h20_sxm"),
                    (int(prompt) + MADE) / float(speed),
                )
                yield alone(f"Qwen/{name}", where, stored, tp, prompt, seconds)


def read(folder: Path) -> Iterator[Run]:
    """All runs of all sources."""
    yield from of_tables(folder / "LLM-Inference-Bench/Plots")
    page = "docs/source/benchmark/speed_benchmark.rst"
    yield from of_vllm_page((folder / "Qwen2" / page).read_text("utf8"), longest=1)
    page = "docs/source/getting_started/speed_benchmark.rst"
    yield from of_vllm_page((folder / "Qwen2.5" / page).read_text("utf8"))
    page = "docs/source/getting_started/speed_benchmark.md"
    yield from of_qwen3((folder / "Qwen3" / page).read_text("utf8"))


def main(folder: Path) -> None:
    """Write the chosen runs, and what is left out and why."""
    found = list(read(folder))
    taken = sorted((*run.setting, *run.times) for run in found if not run.refused)
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS, *taken])
    left_out = Counter(run.refused for run in found if run.refused)
    for why, count in sorted(left_out.items()):
        print(f"left out: {count}, {why}", file=sys.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
