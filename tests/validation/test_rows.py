"""The measured rows are those that were vendored, and strangers are counted out."""

from collections import Counter
from dataclasses import replace

import pytest

from llmserve_lab.validation import MeasuredRow, Predictor, dense_rows, sort_rows
from llmserve_lab.validation import rows as module
from llmserve_lab.validation.protocol import inferred, protocol_of, requests_of
from llmserve_lab.validation.rows import DATA, MODELS, SHA256, SYSTEMS, every, vendored

LINE = {
    "model": "Qwen/Qwen3-32B", "system": "h100_sxm", "engine": "vllm",
    "precision": "bf16", "tp": "2", "isl": "1024", "osl": "128", "clients": "8",
    "ttft_ms": "154.2", "tpot_ms": "18.0", "protocol": "unknown",
}  # fmt: skip
H200 = {"model": "llama-3-70b", "system": "h200-sxm", "precision": "fp8", "tp": 1}


def test_the_rows_of_each_group_are_all_there() -> None:
    counts = Counter((row.model, row.engine) for row in dense_rows())
    assert sum(counts.values()) == 968
    assert counts[("llama-3-70b", "vllm")] == 225
    assert counts[("llama-3-70b", "trtllm")] == 216
    assert counts[("llama-3-8b", "trtllm")] == 177
    assert sum(row.public for row in dense_rows()) == 441


def test_every_key_of_the_rows_is_a_record_of_the_catalog() -> None:
    assert {row.shape.key for row in dense_rows()} == set(MODELS.values())
    assert {row.accelerator.key for row in dense_rows()} == set(SYSTEMS.values())


def test_a_changed_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SHA256", {"dense_rows.csv": "0" * 64})
    with pytest.raises(ValueError, match="must have the digest 0000"):
        vendored("dense_rows.csv")
    with pytest.raises(LookupError, match=r"must be one of dense_rows\.csv"):
        vendored("other.csv")


def test_notice_and_licence_lie_beside_the_rows() -> None:
    notice = (DATA / "NOTICE").read_text("utf8")
    assert "Apache-2.0" in notice and "Changed:" in notice
    assert all(name in notice for name in SHA256)
    assert "Apache License" in (DATA / "LICENSE-APACHE-2.0").read_text("utf8")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": "gpt-5"}, "model must be one of"),
        ({"precision": "int3"}, "precision must be one of bf16, fp8, fp4, got 'int3'"),
        ({"clients": "0"}, "clients must be at least 1, got 0"),
        ({"osl": "1"}, "output_len must be at least 2 token, got 1"),
        ({"tpot_ms": "nan"}, "tpot_s must be finite, got nan"),
        ({"ttft_ms": "-3"}, "ttft_s must be positive"),
        ({"clients": "many"}, "clients must be a number, got many"),
        ({"tp": ""}, "tp must be a number, got "),
        ({"tp": "2.5"}, "tp must be a whole number, got 2.5"),
        ({"clients": "nan"}, "clients must be a whole number, got nan"),
    ],
)
def test_rows_that_cannot_be_predicted_are_counted_by_reason(
    change: dict[str, str], reason: str
) -> None:
    found = sort_rows([LINE, LINE | change, LINE | change])
    assert len(found.rows) == 1
    [(said, times)] = found.left_out.items()
    assert reason in said and times == 2


def test_a_whole_number_may_be_written_with_a_point() -> None:
    plain, pointed = sort_rows([LINE, LINE | {"tp": f"{LINE['tp']}.0"}]).rows
    assert plain == pointed


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="rows must hold at least one measured row"):
        Predictor([])
    with pytest.raises(ValueError, match="nth must be at least 1"):
        every(dense_rows(), 0)


def one(**changes: object) -> MeasuredRow:
    """The first row that is like this."""
    return next(
        row
        for row in dense_rows()
        if all(getattr(row, name) == value for name, value in changes.items())
    )


def test_public_lengths_are_the_load_generators() -> None:
    row = one(engine="vllm", prompt_len=8192, output_len=1024, clients=64, **H200)
    requests = requests_of(row)
    assert len(requests) == 640
    prompts = [request.prompt_len for request in requests]
    assert min(prompts) >= 6553 and max(prompts) <= 8192
    assert sum(prompts) / 640 == pytest.approx(0.9 * 8192, rel=0.01)


def test_the_cache_ends_where_the_measured_first_tokens_say() -> None:
    """0.45 s at 32 clients, 79 s at 64: between them the blocks run out."""
    row = one(engine="trtllm", prompt_len=1024, output_len=8192, clients=64, **H200)
    tokens = 16 * protocol_of(row).kv_blocks(row)
    of_one = 0.9 * (1024 + 8192)
    assert 32 * of_one < tokens < 64 * of_one


def test_weights_that_leave_no_room_are_refused() -> None:
    row = replace(one(**H200), system="h100-sxm", precision="bf16", engine="sglang")
    with pytest.raises(ValueError, match="tp must leave room"):
        protocol_of(row).kv_blocks(row)


def test_facts_read_off_the_rows_are_none_of_the_public_ones() -> None:
    public = tuple(row for row in dense_rows() if row.public)
    assert inferred(public) == {}
    assert inferred(dense_rows())["bits of the cache"] == 353
