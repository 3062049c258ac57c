"""Published measurements, read a second time in the units of their tables."""

from __future__ import annotations

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.measurements import SMALL_BATCH
from llmserve_lab.catalog.evidence.servers import CHUNK_SIZES, VLLM_ROOM

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


def test_the_room_for_the_cache_is_what_the_server_said() -> None:
    """Half a GiB for every thousand tokens, and nine tenths of at most 80 GiB."""
    room = VLLM_ROOM
    model, device = catalog.model(room.model), catalog.accelerator(room.accelerator)
    block_bytes = room.block_tokens * model.kv_bytes_per_token(2)
    assert block_bytes == 8 * 2**20
    used = float(room.blocks) * block_bytes + model.weight_bytes()
    most = float(device.hbm_bytes) * (2**30 / 1e9) * (1 - 0.1)
    assert room.utilisation == 1 - 0.1 and used < most < 1.03 * used
    assert (f"{float(room.blocks):,.0f}", room.blocks.kind) == ("7,463", "measured")


def test_the_three_chunks_are_those_that_were_printed() -> None:
    printed = {32: ("105.5", "32.5"), 128: ("144.9", "48.8"), 512: ("157.0", "122.2")}
    assert [record.chunk_tokens for record in CHUNK_SIZES] == list(printed)
    for record in CHUNK_SIZES:
        rate, gap_ms = map(float, printed[record.chunk_tokens])
        assert float(record.output_per_s) == rate
        assert float(record.longest_gap_s) == pytest.approx(gap_ms / 1000, rel=1e-12)
        assert record.longest_gap_s.kind == record.output_per_s.kind == "measured"
