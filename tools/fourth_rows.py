"""Choose the measured runs of the fourth blind trial.

    python tools/fourth_rows.py FOLDER > fourth_rows.csv

FOLDER is a checkout of cloudrift-ai/deplodock (Apache-2.0), of which the files
``*_benchmark.txt`` in ``results`` and ``experiments`` are read: each has the result
that a client printed, how the servers were started, and how the client was. What is
taken is decided here by settings alone, before any time was looked at:

- models that no run was ever looked at of: GLM-4.5-Air, Qwen3-Coder-480B-A35B and
  Qwen3-Coder-30B-A3B, all in INT4. The goal is judged on these. Beside them, runs of
  known models: GLM-4.6, Kimi-K2.5 and Qwen3-Coder-Next;
- GPUs of the catalog with kernels that are known: H100, H200, B200, L40S and RTX PRO
  6000; where a server has several, over NVLink alone, since the book's constants are of
  such groups;
- one tensor-parallel group a server, no pipeline, no attention in copies, no drafts;
  several like servers only if clients and requests are shared out evenly;
- closed loops in which all requests were answered, at least as many as clients, all
  answers as long as was asked, and prompts within a hundredth;
- each setting once, the latest date, and of one date what stands last.

Not taken is a source whose servers got all prompts at once (gpustack/gpustack), whose
TPOT is made of other requests' prompts, and what was seen by accident of its times: one
run each of Step-3.5-Flash and Qwen3.5-35B-A3B, so that none of these models is here.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from cookbook import PRINTED, options
from latent_rows import Run, write
from llmserve_lab.catalog import ACCELERATORS
from llmserve_lab.validation.fourth_rows import FOURTH_SYSTEMS, LARGE
from llmserve_lab.validation.fourth_trial import COLUMNS

# What was served, by the end of its name: the model and the precision.
SERVED = {
    "GLM-4.5-Air-AWQ-4bit": ("zai-org/GLM-4.5-Air", "int4"),
    "Qwen3-Coder-480B-A35B-Instruct-AWQ": ("Qwen/Qwen3-Coder-480B-A35B", "int4"),
    "Qwen3-Coder-30B-A3B-Instruct-AWQ": ("Qwen/Qwen3-Coder-30B-A3B", "int4"),
    "GLM-4.6": ("zai-org/GLM-4.6", "bf16"),
    "GLM-4.6-FP8": ("zai-org/GLM-4.6", "fp8"),
    "Kimi-K2.5-NVFP4": ("moonshotai/Kimi-K2.5", "fp4"),
    "Qwen3-Coder-Next-FP8": ("Qwen/Qwen3-Coder-Next", "fp8"),
}
# GPUs by how the files are named.
GPUS = {
    "h100": "h100_sxm",
    "h200": "h200_sxm",
    "b200": "b200_sxm",
    "l40s": "l40s",
    "pro6000": "rtx_pro_6000",
    "gcloud_rtxpro6000": "rtx_pro_6000",
}
GPU = re.compile(r"(gcloud_rtxpro6000|[a-z]+\d+[a-z]?)(?=_|x\d)")
SERVERS = re.compile(r"^\s+(?:vllm|sglang)_(\d+):", re.M)
DAY = re.compile(r"(\d{4}-\d\d-\d\d)_")
MONTH = re.compile(r"_(?:(\d\d)_)?(\d\d)_(20\d\d)(?:/|$)")
TIMES = ("Mean TTFT (ms)", "Mean TPOT (ms)")
OTHERWISE = ("speculative-config", "speculative-algorithm", "enable-dp-attention")
SLOTS = ("max-num-seqs", "max-running-requests")


class Loop(NamedTuple):
    """What a file says: settings of a server, of the clients, and what was printed."""

    server: Mapping[str, str]
    client: Mapping[str, str]
    printed: Mapping[str, str]
    servers: int


def read_loop(text: str) -> Loop:
    """A file's settings and figures by name."""
    found = (PRINTED.match(line.strip()) for line in text.splitlines())
    _, _, after = text.partition("command:")
    started, _, rest = after.partition("healthcheck:")
    _, _, sent = rest.partition("bench serve")
    return Loop(
        server=options(started),
        client=options(sent),
        printed={each[1]: each[2] for each in found if each},
        servers=len(set(SERVERS.findall(text))),
    )


def dated(path: str) -> str:
    """When a file's runs were made: the day, or the month, as its folders say."""
    if day := DAY.search(path):
        return day[1]
    if month := MONTH.search(path):
        return "-".join(part for part in (month[3], month[2], month[1]) if part)
    return ""


def of_file(
    path: str, text: str, served: Mapping[str, tuple[str, str]] = SERVED
) -> Run:
    """One run of a model of ``served``, of one of the like servers of a file."""
    loop, name = read_loop(text), Path(path).name.lower()
    gpu = GPU.match(name)
    system = GPUS.get(gpu[1]) if gpu else None
    model = loop.server.get("model", loop.server.get("model-path", "")).split("/")[-1]
    if system is None or model not in served:
        return _refused("another model or GPU")
    if why := unlike(loop, system):
        return _refused(why)
    lengths = [int(loop.client[f"random-{each}-len"]) for each in ("input", "output")]
    clients = int(loop.client["max-concurrency"])
    requests = int(loop.client["num-prompts"])
    if why := uneven(loop, lengths, clients, requests):
        return _refused(why)
    tp = loop.server.get("tensor-parallel-size", loop.server.get("tp", "1"))
    told = next((loop.server[each] for each in SLOTS if each in loop.server), "")
    large = float(ACCELERATORS[FOURTH_SYSTEMS[system]].hbm_bytes) > LARGE
    full_name, precision = served[model]
    eight = loop.server.get("kv-cache-dtype", "") == "fp8" or (
        # the checkpoint says so, and vLLM follows it
        model == "Kimi-K2.5-NVFP4" and name.endswith("_vllm_benchmark.txt")
    )
    setting = (
        full_name, system, "sglang" if "_sglang_" in name else "vllm", precision, tp,
        tp if "enable-expert-parallel" in loop.server else "1", *map(str, lengths),
        str(max(1, clients // loop.servers)), str(requests // loop.servers),
        told or ("1024" if large else "256"), "fp8" if eight else "bf16",
    )  # fmt: skip
    times = (f"{float(loop.printed[each]):.6g}" for each in TIMES)
    return Run(setting, dated(path), (*times, "mean"))


def unlike(loop: Loop, system: str) -> str:
    """Why a server is not one group of devices that the book knows, if so."""
    server = loop.server
    tp = int(server.get("tensor-parallel-size", server.get("tp", "1")))
    pipeline = server.get("pipeline-parallel-size", server.get("pp-size", "1"))
    copies = server.get("data-parallel-size", server.get("dp", "1"))
    if pipeline != "1" or copies != "1" or any(each in server for each in OTHERWISE):
        return "a pipeline, copies or drafts"
    if tp > 1 and not ACCELERATORS[FOURTH_SYSTEMS[system]].scale_up.startswith("nvl"):
        return "several devices without NVLink"
    return ""


def uneven(loop: Loop, lengths: list[int], clients: int, requests: int) -> str:
    """Why the clients were no closed loop that is known in full, if so."""
    if requests < clients:
        return "fewer requests than clients"
    if clients > 1 and (clients % loop.servers or requests % loop.servers):
        return "servers with unlike shares"
    printed = loop.printed
    if int(printed.get("Successful requests", "0")) != requests:
        return "requests that failed"
    prompts, answers = (requests * each for each in lengths)
    if int(printed["Total generated tokens"]) != answers:
        return "other answers"
    if abs(int(printed["Total input tokens"]) / prompts - 1) > 0.01:
        return "other prompts"
    return ""


def _refused(why: str) -> Run:
    return Run((), "", (), why)


def read(folder: Path) -> Iterator[Run]:
    """All runs of all files, in the order of their paths."""
    for path in sorted(folder.rglob("*_benchmark.txt")):
        yield of_file(str(path.relative_to(folder)), path.read_text("utf8"))


def main(folder: Path) -> None:
    """Write the chosen runs, and what is left out and why."""
    write(COLUMNS, read(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
