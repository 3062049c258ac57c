"""The rule of the blind trial of dense models, on made sources."""

from __future__ import annotations

from pathlib import Path

import pytest

import dense_trial_rows

LINE = {
    "Hardware": "Nvidia H100 GPU", "Num of Hardware": "2", "Framework": "vLLM",
    "Model": "Qwen/Qwen2-7B", "Input Output Length": "512", "Batch Size": "16",
    "Latency": "4.096",
}  # fmt: skip


def test_a_batch_is_so_many_requests_at_once_and_its_time_is_shared_out() -> None:
    """A latency over the tokens of one answer."""
    run = dense_trial_rows.of_batch(LINE)
    assert run.setting[:9] == (
        "Qwen/Qwen2-7B", "h100_sxm", "vllm", "bf16", "2", "512", "512", "16", "16",
    )  # fmt: skip
    assert run.times == ("8",)
    stored = {"kv_cache_dtype": "Weight = fp8, KV Cache = fp8", "latency": "1.024"}
    run = dense_trial_rows.of_batch(
        {**{k: v for k, v in LINE.items() if k != "Latency"}, **stored}
    )
    assert (run.setting[3], run.setting[10], *run.times) == ("fp8", "fp8", "2")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"Hardware": "Nvidia A100 GPU"}, "another GPU, or which is not told"),
        ({"Framework": "TensorRT-LLM"}, "another engine"),
        ({"Model": "Deci/DeciLM-7B"}, "another model"),
        ({"kv_cache_dtype": "Weight = int8, KV Cache = fp16"}, "another precision"),
        (
            {
                "Model": "meta-llama/Llama-2-7b-hf", "Num of Hardware": "1",
                "Input Output Length": "2048", "Batch Size": "64",
            },
            "the cache cannot hold all requests",
        ),
    ],
)  # fmt: skip
def test_what_is_refused_has_a_reason(change: dict[str, str], why: str) -> None:
    assert dense_trial_rows.of_batch({**LINE, **change}).refused == why


def test_a_setting_that_comes_again_is_refused(tmp_path: Path) -> None:
    """What stands first is taken, of a table and of both."""
    first, second = (tmp_path / name for name in dense_trial_rows.TABLES)
    second.parent.mkdir()
    names = ",".join(LINE)
    values = ",".join(LINE.values())
    later = values.replace("4.096", "9")
    first.write_text(f"{names}\n{values}\n{later}\n", "utf8")
    second.write_text(
        f"{names.replace('Latency', 'latency')},kv_cache_dtype\n"
        f'{later},"Weight = fp16, KV Cache = fp16"\n',
        "utf8",
    )
    runs = list(dense_trial_rows.of_tables(tmp_path))
    assert [run.times for run in runs] == [("8",), (), ()]
    assert {run.refused for run in runs[1:]} == {"a setting that stands above"}


PAGE = """
-  72B (Transformer)

| Qwen2.5-72B-Instruct | 1     | BF16         | 2       | 1.0  | 9.0    |

-  72B (vLLM)

| Model                | Input | Quantization | GPU Num | Speed | Note      |
| Qwen2.5-72B-Instruct | 1     | BF16         | 2       | 10.0  | Setting 1 |
|                      |       | BF16         | 4       | 40.0  | Default   |
|                      |       | AWQ          | 4       | 99.0  | Default   |
|                      | 6144  | BF16         | 4       | 32.0  | Default   |
|                      | 63488 | BF16         | 4       | 30.0  | Setting 4 |
"""


def test_a_page_of_vllm_tells_a_prompt_s_length_once() -> None:
    """CUDA graphs, precision and length decide; the speed is of the answer's tokens."""
    runs = list(dense_trial_rows.of_vllm_page(PAGE))
    assert [run.refused for run in runs] == [
        "no CUDA graphs", "", "another precision", "", "a longer prompt",
    ]  # fmt: skip
    taken = [run for run in runs if not run.refused]
    assert [(r.setting[4], r.setting[5], r.times[0]) for r in taken] == [
        ("4", "1", "25"), ("4", "6144", "31.25"),
    ]  # fmt: skip
    assert {run.setting[-1] for run in taken} == {"qwen2.5"}
    short = [r.refused for r in dense_trial_rows.of_vllm_page(PAGE, longest=1)]
    assert short[3] == "a longer prompt"


def test_a_speed_of_sglang_counts_the_prompt() -> None:
    """What was seen by accident is refused; INT4 and longer prompts are, too."""
    row = "<tr>{}<td>{}</td><td>1</td><td>{}</td><td></td></tr>"
    first = '<td rowspan="3">Qwen3-8B</td><td rowspan="3">6144</td>'
    page = (
        "### Qwen3-0.6B\N{NO-BREAK SPACE}(SGLang)\n"
        + row.format("<td>Qwen3-0.6B</td><td>1</td>", "BF16", "7.0")
        + "\n### Qwen3-8B (SGLang)\n"
        + row.format(first, "BF16", "1000.0")
        + row.format("", "FP8", "2000.0")
        + row.format("", "AWQ-INT4", "5.0")
        + row.format('<td rowspan="1">63488</td>', "BF16", "5.0")
        + "\n### Qwen3-8B (Transformers)\n"
        + row.format(first, "BF16", "1.0")
    )
    runs = list(dense_trial_rows.of_qwen3(page))
    assert [run.refused for run in runs] == [
        "seen by accident", "", "", "another precision", "a longer prompt",
    ]  # fmt: skip
    for run, speed in zip(runs[1:3], (1000, 2000), strict=True):
        assert run.setting[1:6] == ("h20_sxm", "sglang", run.setting[3], "1", "6144")
        assert float(run.times[0]) == pytest.approx(1e3 * (6144 + 2048) / speed / 2048)
