"""The rule of the fifth blind trial's runs, on made sources, and its shapes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fifth_rows
from llmserve_lab.catalog import ModelShape
from llmserve_lab.catalog.data.fifth_models import (
    LAGUNA_XS2,
    QWEN2_57B,
    QWEN3_30B,
    QWEN_36_35B,
)

SETTING = ("a model", "h200_sxm", "sglang", "bf16", "1", "1")


@pytest.mark.parametrize("shape", [QWEN_36_35B, LAGUNA_XS2, QWEN2_57B, QWEN3_30B])
def test_parameters_are_those_of_the_card(shape: ModelShape) -> None:
    """Total within four in a hundred, as cards round to a billion or two digits."""
    assert shape.params_total == pytest.approx(
        shape.published["params_total"].value, rel=0.04
    )
    assert shape.params_active == pytest.approx(
        shape.published["params_active"].value, rel=0.25
    )


def _printed(count: int, **changed: str) -> dict[str, str]:
    drawn = np.random.RandomState(1)
    prompts, answers = (drawn.randint(1, 1025, count).sum() for _ in range(2))
    return {
        "Max request concurrency": "7",
        "Successful requests": str(count),
        "Total input tokens": str(prompts),
        "Total generated tokens": str(answers),
        "Mean TTFT (ms)": "5.0",
        "Mean TPOT (ms)": "2.50",
    } | {name.replace("_", " "): value for name, value in changed.items()}


def test_drawn_lengths_must_be_those_of_the_seed() -> None:
    """One token more in prompts or answers, a failed request, an image: refused."""
    run = fifth_rows.as_drawn(SETTING, "4096", _printed(20))
    assert run.setting[6:10] == ("1024", "1024", "7", "20")
    assert run.times == ("5", "2.5", "mean")
    for name, value in {
        "Total_input_tokens": "1",
        "Total_generated_tokens": "1",
        "Successful_requests": "19",
        "Total_input_vision_tokens": "3",
    }.items():
        refused = fifth_rows.as_drawn(SETTING, "1", _printed(20, **{name: value}))
        assert refused.refused


def _laguna(
    folder: Path,
    gpu: str = "gpu_1x_pro_6000_blackwell",
    *,
    changed: dict[str, int] | None = None,
) -> Path:
    found = {
        "model_id": "poolside/Laguna-XS.2", "num_prompts": 4, "completed": 4,
        "total_input_tokens": 508, "total_output_tokens": 512, "max_concurrency": 2,
        "date": "2026-07-22T00:00:00Z", "mean_ttft_ms": 3.0, "mean_tpot_ms": 4.0,
    } | (changed or {})  # fmt: skip
    path = folder / gpu / "vllm-c2.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(found), "utf8")
    return folder


def test_vllm_files_must_be_answered_in_full(tmp_path: Path) -> None:
    """Another GPU, a request that failed, a shorter answer or prompt: refused."""
    (run,) = fifth_rows.of_laguna(_laguna(tmp_path / "whole"))
    assert run.setting[6:10] == ("128", "128", "2", "4") and run.date == "2026-07-22"
    wrong = {"completed": 3, "total_output_tokens": 511, "total_input_tokens": 500}
    for name, value in wrong.items():
        (run,) = fifth_rows.of_laguna(_laguna(tmp_path / name, changed={name: value}))
        assert run.refused
    (run,) = fifth_rows.of_laguna(_laguna(tmp_path / "gpu", gpu="gpu_1x_h200_nvl"))
    assert run.refused == "another model or GPU"


def test_speed_is_of_the_answer_or_of_both() -> None:
    """vLLM's speed counts the answer; SGLang's the prompt's token too; the first row
    of a length has the length, those after it have not."""
    (run,) = fifth_rows.of_qwen2(
        "- 57B-A14B (vLLM)\n| Qwen2-57B-A14B-Instruct  | 1    | BF16   | 2   | 50.0 |\n"
        "|                          | 6144  | BF16         | 2       | 49.0 |\n"
    )
    assert run.setting[4:9] == ("2", "1", "1", "2048", "1")
    assert float(run.times[1]) == pytest.approx(20)
    page = """### Qwen3-30B-A3B\N{NO-BREAK SPACE}(SGLang)
<tr><td rowspan="4">Qwen3-30B-A3B</td><td rowspan="3">1</td><td>BF16</td><td>1</td>
""".replace("\n<tr>", "<tr>").strip()
    rows = "<td>100.0</td><td></td></tr>\n<tr>\n<td>FP8</td><td>1</td><td>200.0</td>"
    rest = (
        "<td></td></tr><tr><td>GPTQ-INT4</td><td>1</td><td>9.0</td><td></td></tr>"
        '<tr><td rowspan="1">6144</td><td>BF16</td><td>1</td><td>7.0</td><td></td></tr>'
    )
    found = list(fifth_rows.of_qwen3(page + rows + rest))
    taken = [run for run in found if not run.refused]
    assert [run.setting[3] for run in taken] == ["bf16", "fp8"]
    whole = [2048 * float(run.times[1]) / 1e3 for run in taken]
    assert whole == pytest.approx([2049 / 100, 2049 / 200], rel=1e-5)
    assert len(found) == 4
