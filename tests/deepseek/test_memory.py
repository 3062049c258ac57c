"""What fits beside weights in a decode server's share of memory, added up again."""

import pytest

from llmserve_lab.catalog.evidence.servers import SGLANG_DECODE_SHARE
from llmserve_lab.deepseek.evaluation import blind_runs, decisions
from llmserve_lab.deepseek.evaluation import worked_example as worked
from llmserve_lab.deepseek.evaluation.group_size import (
    ROWS,
    buffer_bytes,
    fits_as_served,
    second_copy_bytes,
    served_bytes,
    squeezed,
    weights_bytes,
)
from llmserve_lab.deepseek.model.setup import setup
from llmserve_lab.deepseek.page import answers
from tests.deepseek.twins import twin

TABLES = 2 * 129_280 * 7168  # embedding table and LM head, the second byte of each
SECOND_U = 2 * 61 * 512 * 128 * (128 + 128)  # the up-projection again, in BF16
EXPERT = 58 * 3 * 7168 * 2048  # one expert in all layers that have them


@pytest.mark.parametrize(("ep", "least"), [(32, 192), (72, 256), (144, 256)])
def test_the_opening_s_requests_are_those_that_fit(ep: int, least: int) -> None:
    made = twin(setup("h100-sxm", ep))
    fits = fits_as_served(made, 2000.0)
    held = made.resident_bytes() + TABLES + SECOND_U
    share = 0.835 * 79.19 * 2**30  # as the driver of an H100 reports it
    assert held + fits * 2000 * 70_272 <= share < held + (fits + 1) * 2000 * 70_272
    assert answers.fixed_batch(ep)[1] == least == min(256, fits)


def test_what_a_server_leaves_free_holds_its_buffers_and_more() -> None:
    """Every row for each of 288 experts, sent and received, all twice."""
    made = twin(worked.PLACE)
    assert buffer_bytes(made) == 288 * ROWS * 4 * (2 * 7168 + 16)
    free = float(worked.PLACE.accelerator.usable_bytes) - served_bytes(made)
    assert buffer_bytes(made, 2 * ROWS) < 0.5 * free
    assert second_copy_bytes(made) == SECOND_U
    assert served_bytes(made) < made.room_bytes()


def test_with_few_gpus_memory_is_nearly_full_of_weights() -> None:
    """Eighteen experts and the shared one: a fifth of what a larger group serves."""
    few, many = (fits_as_served(decisions.twins(ep)[1], 4000.0) for ep in (16, 72))
    assert few < many / 5
    less = decisions.twins(16, n_redundant=0)[1]
    assert weights_bytes(decisions.twins(16)[1]) - weights_bytes(less) == 2 * EXPERT
    assert fits_as_served(decisions.twins(8)[1], 4000.0) == 0


def test_caches_in_fp8_double_what_fits() -> None:
    for ep in (16, 72):
        wide, narrow = decisions.twins(ep)[1], decisions.twins(ep, cache="fp8")[1]
        fits = [fits_as_served(each, 4000.0) for each in (wide, narrow)]
        assert fits[1] in (2 * fits[0], 2 * fits[0] + 1)


def test_the_farthest_run_fits_only_if_all_is_squeezed() -> None:
    """Its tokens, at two bytes a number and at one, beside one copy of each expert."""
    on_h100 = [each for each in blind_runs.blind() if "h100-" in each.run.name]
    far = max(on_h100, key=lambda each: each.rate_error)
    found = squeezed(far)
    tokens = far.requests * far.context
    assert found.cache_bytes == pytest.approx(tokens * 70_272)
    assert found.squeezed_bytes == pytest.approx(tokens * 70_272 / 2)
    one = twin(setup("h100-sxm", 16))
    usable = float(one.setup.accelerator.usable_bytes)
    held = one.resident_bytes() + TABLES
    lean = held - 2 * EXPERT + found.squeezed_bytes
    assert found.share == pytest.approx(lean / usable) == pytest.approx(0.847, abs=1e-3)
    # Neither change alone would do, even in nine tenths of the memory.
    assert held + found.squeezed_bytes > 0.9 * usable
    assert held - 2 * EXPERT + found.cache_bytes > 0.9 * usable
    assert float(SGLANG_DECODE_SHARE) < found.share < 0.9
