"""Which runs of the fourth trial are scored, and how: the rule, on made-up files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fourth_rows import dated, of_file, read_loop
from latent_rows import chosen
from llmserve_lab.engine import Chunked, ContinuousWithBudget
from llmserve_lab.validation.exposure import exposures_of, exposures_of_all
from llmserve_lab.validation.fourth_rows import LoopRow, fourth_rows
from llmserve_lab.validation.fourth_trial import COLUMNS
from llmserve_lab.validation.protocol import protocol_of, requests_of

NAME = "h200_x_8_cpatonn_GLM-4.5-Air-AWQ-4bit_vllm_benchmark.txt"
TEXT = """============ Serving Benchmark Result ============
Successful requests:                     256
Maximum request concurrency:             128
Total input tokens:                      2048000
Total generated tokens:                  2048000
Mean TTFT (ms):                          123.456789
Mean TPOT (ms):                          7.5
==================================================
services:
  vllm_0:
    command: >
      --tensor-parallel-size 1
      --pipeline-parallel-size 1
      --model /hf_models/cpatonn/GLM-4.5-Air-AWQ-4bit
      --max-num-seqs 256 --kv-cache-dtype fp8
    healthcheck:
  vllm_1:
    command: >
      --tensor-parallel-size 1
    healthcheck:
vllm bench serve --dataset-name random --random-input-len 8000
  --random-output-len 8000 --max-concurrency 128 --num-prompts 256
"""
PATH = f"results/h100_h200_01_2026/h200/{NAME}"


def test_a_file_is_one_of_its_like_servers_in_the_columns_that_are_scored() -> None:
    (row,), left_out = chosen([of_file(PATH, TEXT)])
    assert row == (
        "zai-org/GLM-4.5-Air", "h200_sxm", "vllm", "int4", "1", "1", "8000", "8000",
        "64", "128", "256", "fp8", "123.457", "7.5", "mean", "2026-01",
    )  # fmt: skip
    assert len(row) == len(COLUMNS) and not +left_out
    assert read_loop(TEXT).servers == 2


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("GLM-4.5-Air-AWQ-4bit\n", "Llama-3.3-70B\n", "another model or GPU"),
        ("pipeline-parallel-size 1", "pipeline-parallel-size 2", "a pipeline"),
        ("tensor-parallel-size 1", "tensor-parallel-size 1 --dp 2", "copies"),
        ("--max-num-seqs", "--speculative-config x --max-num-seqs", "drafts"),
        ("requests:                     256", "requests: 255", "requests that failed"),
        ("--num-prompts 256", "--num-prompts 127", "fewer requests than clients"),
        ("concurrency 128", "concurrency 129", "servers with unlike shares"),
        (
            "generated tokens:                  2048",
            "generated tokens: 2047",
            "answers",
        ),
        ("input tokens:                      2048", "input tokens: 2000", "prompts"),
    ],
)
def test_files_are_refused_by_their_settings(before: str, after: str, why: str) -> None:
    assert TEXT.count(before)
    assert why in of_file(PATH, TEXT.replace(before, after)).refused


def test_gpus_are_those_of_the_file_s_name_and_several_need_nvlink() -> None:
    wide = TEXT.replace("tensor-parallel-size 1", "tensor-parallel-size 2")
    assert not of_file(PATH, wide).refused
    for name, why in (("pro6000", "NVLink"), ("l40s", "NVLink"), ("rtx5090", "GPU")):
        path = PATH.replace(NAME, NAME.replace("h200", name))
        assert why in of_file(path, wide).refused
    assert of_file(PATH.replace("h200_x_8", "b200x4"), TEXT).setting[1] == "b200_sxm"


def test_slots_and_caches_are_those_told_and_else_the_defaults() -> None:
    plain = TEXT.replace("--max-num-seqs 256 --kv-cache-dtype fp8", "")
    assert of_file(PATH, plain).setting[-2:] == ("1024", "bf16")
    small = PATH.replace(NAME, NAME.replace("h200", "l40s"))
    assert of_file(small, plain).setting[-2:] == ("256", "bf16")
    experts = TEXT.replace("--max-num", "--enable-expert-parallel --max-num")
    wide = experts.replace("tensor-parallel-size 1", "tensor-parallel-size 4")
    assert of_file(PATH, wide).setting[4:6] == ("4", "4")


def test_a_lone_client_goes_from_server_to_server() -> None:
    lone = TEXT.replace("concurrency 128", "concurrency 1")
    assert of_file(PATH, lone).setting[8:10] == ("1", "128")


@pytest.mark.parametrize(
    ("path", "date"),
    [
        ("results/x_11_2025/a.txt", "2025-11"),
        ("results/rtx4900_08_10_2025/a.txt", "2025-10-08"),
        ("experiments/a/2026-03-09_05-32-26_00b58a0d/b.txt", "2026-03-09"),
        ("elsewhere/a.txt", ""),
    ],
)
def test_folders_say_when_a_run_was_made(path: str, date: str) -> None:
    assert dated(path) == date


CELLS = (
    "zai-org/GLM-4.5-Air,h200_sxm,vllm,int4,1,1,1000,1000,8,24,256,fp8,99,9,mean,2026"
)


def row_of(**changes: str) -> LoopRow:
    """A row of the chosen runs."""
    cells = dict(zip(COLUMNS, CELLS.split(","), strict=True)) | changes
    (row,) = fourth_rows([cells]).rows
    assert isinstance(row, LoopRow)
    return row


def test_a_row_has_its_own_requests_slots_and_cache() -> None:
    row = row_of()
    sent = requests_of(row)
    assert len(sent) == 24 and {each.prompt_len for each in sent} == {1000}
    assert {each.output_len for each in sent} == {1000}
    policy = protocol_of(row).policy
    assert isinstance(policy, Chunked)
    assert (policy.budget, policy.max_batch) == (8192, 256)
    blocks = [protocol_of(row_of(cache=c)).kv_blocks(row) for c in ("fp8", "bf16")]
    assert blocks[0] / blocks[1] == pytest.approx(2, rel=1e-3)
    small = protocol_of(row_of(model="Qwen/Qwen3-Coder-30B-A3B", system="l40s")).policy
    assert isinstance(small, Chunked) and small.budget == 2048
    prompts = protocol_of(row_of(engine="sglang", system="b200_sxm")).policy
    assert isinstance(prompts, ContinuousWithBudget) and not prompts.mixed
    assert prompts.max_num_batched_tokens == 16_384
    assert fourth_rows([dict.fromkeys(COLUMNS, "x")]).left_out
    for name, value in (("requests", 0), ("slots", 0), ("cache", "fp3")):
        with pytest.raises((ValueError, LookupError), match=name):
            replace(row, **{name: value})  # type: ignore[arg-type]


def test_benchmarks_that_differ_in_their_requests_alone_are_counted_apart() -> None:
    rows = [row_of(requests=each) for each in ("8", "12", "8")]
    counted = exposures_of_all(rows, [protocol_of(row) for row in rows])
    assert counted[0] is counted[2] and counted[0] is not counted[1]
    own = exposures_of(rows[1]).tpot
    assert np.array_equal(counted[1].tpot.share, own.share)
    # in one wave all stay until the end; the four that follow have the GPU alone
    assert own.requests < counted[0].tpot.requests
