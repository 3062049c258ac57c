"""Which runs of the third trial are scored, and how: the rule, on made-up runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cookbook import PrintedRun, options, runs
from latent_rows import chosen
from llmserve_lab.validation.protocol import protocol_of, requests_of
from llmserve_lab.validation.third_rows import (
    CookbookRow,
    ThirdRow,
    cookbook_lengths,
    third_rows,
)
from llmserve_lab.validation.third_trial import COLUMNS
from third_rows import of_line, of_page

PAGE = """
- Hardware: NVIDIA B200 GPU (8x), AMD MI300X (8x)
```bash
python -m sglang.launch_server \\
  --model zai-org/GLM-4.6 \\
  --tp 8
python -m sglang.bench_serving \\
  --model zai-org/GLM-4.6 --dataset-name random \\
  --random-input-len 1000 --random-output-len 1000 \\
  --num-prompts 10 --max-concurrency 1
```
============ Serving Benchmark Result ============
Total input tokens:                      6101
Mean TTFT (ms):                          101.23456789
Mean TPOT (ms):                          7.5
==================================================
"""


def page(**changes: str) -> PrintedRun:
    """The page's run, with some of its settings changed; a name says whose."""
    (run,) = runs(PAGE)
    for name, value in changes.items():
        of, _, option = name.partition("__")
        told: Mapping[str, str] = getattr(run, of) if option else {}
        put = {**told, option.replace("_", "-"): value} if option else value
        changed: dict[str, Any] = {of: put}
        run = replace(run, **changed)
    return run


def line(**changes: object) -> Mapping[str, str]:
    """A line of the table, with some of its settings changed."""
    made = {
        "model_path": "Qwen/Qwen3.5-397B-A17B", "system": "b200_sxm",
        "backend": "sglang", "precision": "fp8", "mode": "agg",
        "attention_dp_size": "1", "tp_size": 4, "moe_tp_size": 1, "moe_ep_size": 4,
        "isl": 8192, "osl": 1024, "silicon_ttft_ms": "51.23456789",
        "silicon_data_source": "silicon_concurrency=4; measured=2026-03-24T00",
        "silicon_tpot_ms": "7.5",
    }  # fmt: skip
    return {name: str(value) for name, value in {**made, **changes}.items()}


def test_a_run_of_a_page_is_written_in_the_columns_that_are_scored() -> None:
    (row,), left_out = chosen([of_page(page())])
    assert row == (
        "zai-org/GLM-4.6", "b200_sxm", "sglang", "bf16", "8", "1", "1000", "1000", "1",
        "cookbook", "101.235", "7.5", "mean", "",
    )  # fmt: skip
    assert len(row) == len(COLUMNS) and not +left_out


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"hardware": "AMD MI300X GPU (8x)"}, "another model or GPU"),
        ({"hardware": "AMD MI300X (8x), NVIDIA B200"}, "another model or GPU"),
        ({"server__model": "zai-org/GLM-5"}, "another model or GPU"),
        ({"server__speculative_algorithm": "EAGLE"}, "drafts"),
        ({"server__enable_dp_attention": "true"}, "copies"),
        ({"client__dataset_name": "sharegpt"}, "other requests"),
        ({"client__num_prompts": "20"}, "other requests"),
        ({"printed__Total input tokens": "6102"}, "other requests"),
    ],
)
def test_runs_of_pages_are_refused_by_their_settings(
    changes: dict[str, str], why: str
) -> None:
    assert why in of_page(page(**changes)).refused


def test_a_server_told_anew_forgets_what_clients_were_told() -> None:
    assert options("x --tp 8 --trust-remote-code --ep=2") == {
        "tp": "8", "trust-remote-code": "true", "ep": "2",
    }  # fmt: skip
    again = PAGE + "sglang serve --tp 2\n" + PAGE.split("```")[-1]
    assert [run.client != {} for run in runs(again)] == [True, False]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"moe_tp_size": 4, "moe_ep_size": 1}, "drafts, or may be"),
        ({"system": "b300_sxm"}, "drafts, or may be"),
        ({"model_path": "zhipuai/GLM-5"}, "another model or GPU"),
        ({"model_path": "moonshotai/Kimi-K2.5"}, "another model or GPU"),
        ({"model_path": "moonshotai/Kimi-K2.5", "system": "b300_sxm"}, ""),
        ({"silicon_data_source": "silicon_concurrency=4"}, "no date"),
        ({"tp_size": 16, "moe_tp_size": 4}, "no one group"),
    ],
)
def test_lines_of_the_table_are_refused_by_their_settings(
    changes: dict[str, object], why: str
) -> None:
    refused = of_line(line(**changes)).refused
    assert why in refused and bool(why) == bool(refused)


CELLS = "zai-org/GLM-4.6,b200_sxm,sglang,bf16,8,1,1000,1000,16,cookbook,99,9,mean,"


def cells(**changes: str) -> dict[str, str]:
    """A line of the chosen runs."""
    return dict(zip(COLUMNS, CELLS.split(","), strict=True)) | changes


@pytest.mark.parametrize(
    ("clients", "prompts", "answers"),
    [("1", 6101, 4220), ("16", 39_668, 40_805), ("100", 249_831, 252_662)],
)
def test_clients_of_the_cookbook_send_what_its_pages_count(
    clients: str, prompts: int, answers: int
) -> None:
    (row,) = third_rows([cells(clients=clients)]).rows
    assert [each.sum() for each in cookbook_lengths(row)] == [prompts, answers]
    sent = requests_of(row)
    assert sum(each.prompt_len for each in sent) == prompts
    short = int((cookbook_lengths(row)[1] == 1).sum())
    assert sum(each.output_len for each in sent) == answers + short


def test_rows_are_made_by_source_and_attention() -> None:
    there = third_rows([cells()]).rows[0]
    elsewhere = third_rows([cells(source="inferencex")]).rows[0]
    assert type(there) is CookbookRow and type(elsewhere) is ThirdRow
    latent = third_rows([cells(model="zai-org/GLM-4.7-Flash", tp="1")]).rows[0]
    assert protocol_of(latent).kv_blocks(latent) > 0
    assert third_rows([cells(model="x")]).left_out
    blocks = [protocol_of(row).kv_blocks(row) for row in (there, latent)]
    assert np.all(np.array(blocks) * 16 > 16 * 2000)  # all clients have room
