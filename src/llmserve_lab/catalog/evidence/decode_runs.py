"""Decode workers of disaggregated servers as a benchmark suite ran them, run by run.

DeepSeek-V3 and R1 with data-parallel attention; prefill ran elsewhere. From
``silicon_sample.csv`` of the package ``aiconfigurator-core`` 0.12.0 (Apache-2.0,
NVIDIA; runs of InferenceX). Changed: rows chosen, columns dropped and renamed, times
rounded to the microsecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from llmserve_lab.catalog.evidence.status import Status

SOURCE = (
    "InferenceX runs in aiconfigurator-core 0.12.0, silicon_sample.csv (Apache-2.0)"
)

CALIBRATED = Status("calibrated", "2026-11-22")
Statistic = Literal["mean", "median"]


@dataclass(frozen=True, kw_only=True)
class DecodeRun:
    """One run: ``ep`` GPUs of one kind decode as one group, attention data-parallel.

    ``prompt_tokens`` and ``output_tokens`` are nominal, ``requests_per_gpu`` the
    concurrency of the clients over the GPUs. ``ttft_s`` and ``tpot_s`` are the times to
    the first token and of each one after it, in seconds, ``statistic`` of a run's
    requests. ``date`` is that of the run, where it is told.
    """

    accelerator: str
    engine: str
    precision: str
    ep: int
    prompt_tokens: int
    output_tokens: int
    requests_per_gpu: float
    ttft_s: float
    tpot_s: float
    status: Status = CALIBRATED
    statistic: Statistic = "mean"
    date: str = ""

    @property
    def name(self) -> str:
        """``sglang, fp8, 8 × h200-sxm, 8192/1024, 32 requests``."""
        lengths = f"{self.prompt_tokens}/{self.output_tokens}"
        return (
            f"{self.engine}, {self.precision}, {self.ep} × {self.accelerator}, "
            f"{lengths}, {self.requests_per_gpu:g} requests"
        )


def _run(
    accelerator: str, engine: str, precision: str, ep: int, *run: float
) -> DecodeRun:
    prompt, output, requests, ttft_s, tpot_s = run
    return DecodeRun(
        accelerator=accelerator,
        engine=engine,
        precision=precision,
        ep=ep,
        prompt_tokens=int(prompt),
        output_tokens=int(output),
        requests_per_gpu=requests,
        ttft_s=ttft_s,
        tpot_s=tpot_s,
    )


# prompt and output tokens, requests on a GPU, seconds to the first and to each token
DECODE_RUNS: tuple[DecodeRun, ...] = (
    _run("b200-sxm", "sglang", "fp4", 8, 8192, 1024, 128, 9.516669, 0.039025),
    _run("b200-sxm", "sglang", "fp8", 8, 8192, 1024, 128, 11.297106, 0.053583),
    _run("b200-sxm", "sglang", "fp8", 8, 8192, 1024, 16, 14.958064, 0.028030),
    _run("b200-sxm", "sglang", "fp8", 8, 8192, 1024, 18, 24.804640, 0.026351),
    _run("b200-sxm", "sglang", "fp8", 8, 8192, 1024, 64, 10.182007, 0.038503),
    _run("b200-sxm", "trtllm", "fp8", 8, 1024, 1024, 512, 4.268255, 0.074252),
    _run("b200-sxm", "trtllm", "fp8", 8, 8192, 1024, 32, 3.634550, 0.033646),
    _run("b200-sxm", "trtllm", "fp8", 8, 8192, 1024, 80, 4.212053, 0.042364),
    _run("gb200-nvl72", "sglang", "fp4", 32, 1024, 1024, 128, 2.532723, 0.021666),
    _run("gb200-nvl72", "sglang", "fp4", 32, 8192, 1024, 64, 18.226389, 0.017593),
    _run("gb200-nvl72", "sglang", "fp8", 32, 1024, 1024, 128, 2.730156, 0.026640),
    _run("gb200-nvl72", "sglang", "fp8", 32, 1024, 1024, 64, 1.598316, 0.020895),
    _run("gb200-nvl72", "sglang", "fp8", 8, 1024, 1024, 512, 3.545762, 0.060993),
    _run("gb200-nvl72", "trtllm", "fp4", 4, 1024, 1024, 768, 11.188083, 0.053850),
    _run("gb200-nvl72", "trtllm", "fp4", 32, 1024, 8192, 128, 5.066100, 0.023596),
    _run("gb200-nvl72", "trtllm", "fp4", 16, 8192, 1024, 256, 4.108859, 0.041213),
    _run("h200-sxm", "sglang", "fp8", 8, 8192, 1024, 32, 29.643608, 0.042735),
    _run("h200-sxm", "sglang", "fp8", 8, 8192, 1024, 8, 2.026288, 0.034687),
    _run("h200-sxm", "trtllm", "fp8", 8, 1024, 1024, 32, 5.121297, 0.039899),
    _run("h200-sxm", "trtllm", "fp8", 8, 8192, 1024, 32, 8.763986, 0.044026),
    _run("h200-sxm", "trtllm", "fp8", 8, 8192, 1024, 8, 2.599342, 0.033107),
)
