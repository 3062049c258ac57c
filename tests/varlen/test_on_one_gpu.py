"""What one H100 says of the page's prices and shares."""

import pytest

from llmserve_lab.catalog.evidence.one_h100 import prefill_attention
from llmserve_lab.running_example import cost, device
from llmserve_lab.varlen import formulas as f
from llmserve_lab.varlen import on_one_gpu
from llmserve_lab.varlen.arguments import batch_of
from llmserve_lab.varlen.page.questions import LLAMA
from llmserve_lab.varlen.prefill_time import total_s

TIMED = tuple(sorted({each.tokens for each in prefill_attention()}))


def test_attention_is_never_as_fast_as_its_price_and_nearest_in_long_prompts() -> None:
    found = [on_one_gpu.pair_s(tokens) for tokens in TIMED]
    assert found == sorted(found, reverse=True)
    assert min(found) > cost().pair_s
    flops = float(LLAMA["attn_flops_per_pair"])
    assert min(found) > flops / float(device().peak("bf16"))


@pytest.mark.parametrize("tokens", [4096, 8192, 16_384, 32_768])
def test_its_share_of_the_time_is_near_its_share_of_the_flops(tokens: int) -> None:
    of_flops = float(f.ATTN_SHARE.at(batch_of((tokens,)), LLAMA))
    assert on_one_gpu.attention_share(tokens) == pytest.approx(of_flops, abs=0.02)


def test_masking_of_many_short_prompts_is_predicted_within_an_eighth() -> None:
    """One sequence of as many rows was timed; varlen saves its attention at most."""
    lengths = [128] * 64
    found, rows = total_s(lengths, cost()), sum(lengths)
    timed = on_one_gpu.pass_s(rows)
    assert 0.875 < found["masked"] / timed < 1
    most = timed / (timed - on_one_gpu.attention_s(rows))
    assert 1.1 < found["masked"] / found["varlen"] < most < 1.2


def test_what_was_not_timed_is_refused() -> None:
    with pytest.raises(ValueError, match=r"tokens must be one of .* got 1000"):
        on_one_gpu.attention_s(1000)
    with pytest.raises(ValueError, match=r"tokens must be one of .* got 1024"):
        on_one_gpu.pass_s(1024)
