"""Published measurements, read a second time in the units of their tables."""

from __future__ import annotations

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.measurements import SMALL_BATCH

# Milliseconds of the prefill of one prompt, and of one token after it.
PRINTED_MS = {"a100-80-sxm": ("94", "44.9"), "h100-sxm": ("53.4", "29.8")}


@pytest.mark.parametrize("key", PRINTED_MS)
def test_one_request_alone_takes_the_printed_milliseconds(key: str) -> None:
    record = SMALL_BATCH[key]
    times = [float(record.prompt_s), float(record.token_s)]
    assert times == pytest.approx(
        [float(ms) / 1000 for ms in PRINTED_MS[key]], rel=1e-12
    )
    assert record.prompt_tokens == 2**9
    assert record.prompt_s.kind == record.token_s.kind == "measured"


@pytest.mark.parametrize("key", PRINTED_MS)
def test_the_devices_are_one_node_and_the_model_is_in_the_catalog(key: str) -> None:
    record = SMALL_BATCH[key]
    assert record.num_devices == catalog.accelerator(record.accelerator).num_devices
    assert catalog.model(record.model).attention.kind == "GQA"


def test_a_prefill_and_a_token_are_never_faster_than_their_roofline() -> None:
    assert set(SMALL_BATCH) == set(PRINTED_MS)
    for record in SMALL_BATCH.values():
        model, device = (
            catalog.model(record.model),
            catalog.accelerator(record.accelerator),
        )
        weights_s = model.weight_bytes() / (record.num_devices * float(device.hbm_bw))
        assert float(record.token_s) > weights_s
        assert float(record.prompt_s) > weights_s
