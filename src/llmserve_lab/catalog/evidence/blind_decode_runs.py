"""Decode runs of DeepSeek-R1 that the twin was scored on, blind, and only once.

Chosen by settings alone (``tools/decode_rows.py``, before a time was read): what the
runs are like that its host time was fitted to, none of which is among them. What was
known before of such runs is one number: how far an earlier form of the twin was off,
in the mean, on sixty-one runs of the same suite. The suite is InferenceX, of
SemiAnalysis; the runs are of December 2025 to March 2026.

Settings and two times a run, which the suite's dashboard answers and which are stored
among its fixtures. Only these figures are cited; nothing of its code is here. Changed:
rows chosen, columns renamed, times rounded to six digits.
"""

from __future__ import annotations

from llmserve_lab.catalog.evidence.decode_runs import DecodeRun, Statistic
from llmserve_lab.catalog.evidence.status import Status

REPOSITORY = "SemiAnalysisAI/InferenceX-app"
FOLDER = "packages/app/cypress/fixtures/api"
FILES = ("benchmarks.json", "benchmarks-history.json")
COMMITS = (  # those of the later one first, each with the date of its files
    ("7fe6d62ad57a3df061be692e86578c7111d880c7", "2026-08-15"),
    ("0ecaaf7b11467d13d75827898437dfd3f3ae6ebf", "2026-05-09"),
)
SOURCE = (
    f"InferenceX runs, figures as stored in {REPOSITORY}, {FOLDER}, at "
    + " and ".join(f"{commit[:8]} ({date})" for commit, date in COMMITS)
)

# The twin and the rule were fixed before any of them was opened: its error of that day
# is blind, and from that day on they are seen.
OPENED = Status("seen", "2026-11-28")


def _run(
    accelerator: str, engine: str, precision: str, ep: int, prompt: int, output: int,
    requests: float, ttft_s: float, tpot_s: float, statistic: Statistic, date: str,
) -> DecodeRun:  # fmt: skip
    return DecodeRun(
        accelerator=accelerator,
        engine=engine,
        precision=precision,
        ep=ep,
        prompt_tokens=prompt,
        output_tokens=output,
        requests_per_gpu=requests,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
        status=OPENED,
        statistic=statistic,
        date=date,
    )


# GPU, engine, weights, GPUs, prompt and output tokens, requests on a GPU, seconds to
# the first and to each token: means or medians of a run, and its date
BLIND_RUNS: tuple[DecodeRun, ...] = (
    _run("b200-sxm", "sglang", "fp8", 8, 1024, 1024, 51.2, 3.28674, 0.0373247,
         "median", "2026-02-07"),
    _run("b200-sxm", "sglang", "fp8", 8, 8192, 1024, 32, 8.91519, 0.0334502,
         "median", "2026-02-07"),
    _run("b200-sxm", "trtllm", "fp4", 8, 8192, 1024, 138.875, 4.26716, 0.0312564,
         "mean", "2026-01-29"),
    _run("b200-sxm", "trtllm", "fp8", 8, 1024, 1024, 128.8, 3.71301, 0.0375481,
         "mean", "2026-03-23"),
    _run("b200-sxm", "trtllm", "fp8", 8, 8192, 1024, 16, 1.16454, 0.0313705,
         "median", "2026-02-12"),
    _run("gb200-nvl72", "sglang", "fp4", 32, 1024, 1024, 256, 25.3639, 0.0228839,
         "median", "2026-02-08"),
    _run("gb200-nvl72", "sglang", "fp4", 48, 1024, 1024, 128 / 3, 0.546306, 0.0159567,
         "median", "2026-02-08"),
    _run("gb200-nvl72", "sglang", "fp4", 48, 8192, 1024, 128 / 3, 33.0533, 0.014021,
         "mean", "2026-02-08"),
    _run("gb200-nvl72", "sglang", "fp4", 48, 8192, 1024, 256 / 3, 86.7339, 0.0139853,
         "median", "2026-02-08"),
    _run("gb200-nvl72", "sglang", "fp8", 32, 1024, 1024, 192, 3.21231, 0.0329566,
         "median", "2026-02-09"),
    _run("gb200-nvl72", "sglang", "fp8", 24, 8192, 1024, 256 / 3, 3.78413, 0.0292699,
         "median", "2026-02-09"),
    _run("gb200-nvl72", "sglang", "fp8", 32, 8192, 1024, 192, 75.8137, 0.020694,
         "mean", "2026-02-09"),
    _run("gb200-nvl72", "trtllm", "fp4", 16, 1024, 1024, 128, 1.58816, 0.0250086,
         "mean", "2025-12-19"),
    _run("gb200-nvl72", "trtllm", "fp4", 8, 1024, 1024, 537.5, 9.37434, 0.0542207,
         "median", "2025-12-19"),
    _run("gb200-nvl72", "trtllm", "fp4", 32, 1024, 8192, 17.59375, 9.47442, 0.0132351,
         "mean", "2026-03-23"),
    _run("gb200-nvl72", "trtllm", "fp4", 32, 1024, 8192, 256, 35.5157, 0.0343687,
         "mean", "2026-03-23"),
    _run("gb200-nvl72", "trtllm", "fp4", 16, 8192, 1024, 134.375, 1.82959, 0.0327984,
         "median", "2025-12-09"),
    _run("gb200-nvl72", "trtllm", "fp4", 8, 8192, 1024, 2.375, 1.68572, 0.0097812,
         "median", "2026-01-31"),
    _run("gb200-nvl72", "trtllm", "fp4", 8, 8192, 1024, 268.75, 2.5914, 0.0520846,
         "median", "2025-12-19"),
    _run("gb200-nvl72", "trtllm", "fp8", 16, 1024, 1024, 134.4375, 3.32677, 0.0284895,
         "mean", "2026-02-05"),
    _run("gb200-nvl72", "trtllm", "fp8", 32, 1024, 1024, 35.21875, 2.62881, 0.0195531,
         "mean", "2026-02-05"),
    _run("gb200-nvl72", "trtllm", "fp8", 8, 1024, 1024, 768, 11.395, 0.0780455,
         "mean", "2026-02-05"),
    _run("gb200-nvl72", "trtllm", "fp8", 16, 1024, 8192, 256, 7.4315, 0.0485588,
         "mean", "2026-02-05"),
    _run("gb200-nvl72", "trtllm", "fp8", 32, 1024, 8192, 17.625, 12.6655, 0.0172528,
         "mean", "2026-02-05"),
    _run("gb200-nvl72", "trtllm", "fp8", 16, 8192, 1024, 76.8125, 6.11912, 0.0271376,
         "mean", "2026-02-05"),
    _run("gb200-nvl72", "trtllm", "fp8", 32, 8192, 1024, 10.40625, 5.12291, 0.0160972,
         "mean", "2026-02-05"),
    _run("h100-sxm", "trtllm", "fp8", 16, 1024, 1024, 307.25, 24.1191, 0.117946,
         "mean", "2026-02-08"),
    _run("h100-sxm", "trtllm", "fp8", 16, 8192, 1024, 19.25, 15.2413, 0.0477068,
         "mean", "2026-02-08"),
    _run("h200-sxm", "trtllm", "fp8", 8, 1024, 1024, 64, 4.74195, 0.0485875,
         "mean", "2026-03-23"),
    _run("h200-sxm", "trtllm", "fp8", 8, 8192, 1024, 16, 6.26814, 0.0365283,
         "median", "2026-03-23"),
)  # fmt: skip
