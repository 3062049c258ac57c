"""A server with every matrix sliced, beside one with whole experts: counted again."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog import accelerator
from llmserve_lab.moe import exchange_time, kernel_time, sliced_server, token_time
from llmserve_lab.moe.models import DEEPSEEK
from llmserve_lab.moe.routing_sampler import draw

BANDWIDTH = 4.8e12 * 0.946  # an H200's, as reached
EXPERT = 3 * 7168 * 2048  # bytes of one in FP8
ENTRY = 61 * (512 + 64) * 2  # bytes of a token's cache
GPUS = 8


def whole_s(n_requests: int) -> tuple[float, float]:
    """Seconds of a token: all sliced, and experts whole with attention in copies."""
    sliced = sum(sliced_server.token_s(n_requests).values())
    return sliced, sum(token_time.opening_s(n_requests).values())


def test_eight_slices_make_the_weights_and_repeat_what_is_whole() -> None:
    """Weights of all GPUs, tensor by tensor: once what is cut, eight times the rest."""
    total = 0
    for tensor in DEEPSEEK.tensors():
        if tensor.name.startswith("experts.") or tensor.name == "embed_tokens":
            continue
        cut = tensor.name not in ("q_a_proj", "kv_a_proj_with_mqa", "router")
        total += tensor.params * (1 if cut else GPUS)
    assert GPUS * sliced_server.read_bytes() == pytest.approx(total)
    assert 0.9e9 < sliced_server.whole_bytes() < 1.1e9


def test_a_slice_of_each_expert_that_is_drawn_is_read() -> None:
    for n_rows in (1, 8, 64):
        seen = [
            len(set(draw([1.0] * 256, n_rows=n_rows, top_k=8, seed=s).ravel().tolist()))
            for s in range(40)
        ]
        read = sum(seen) / len(seen) * EXPERT / GPUS / BANDWIDTH * 58
        found = sliced_server.token_s(n_rows)["experts"]
        assert found == pytest.approx(read, rel=0.02)


def test_every_gpu_reads_all_caches_and_waits_for_two_sums_a_layer() -> None:
    parts = {n: sliced_server.token_s(n, 1100) for n in (1, 64, 512)}
    for n, part in parts.items():
        assert part["attention"] == pytest.approx(n * 1100 * ENTRY / BANDWIDTH)
    assert parts[1]["sending"] == pytest.approx(2 * 61 * 4.7e-6, rel=0.02)
    sent = [part["sending"] for part in parts.values()]
    assert sent == sorted(sent) and sent[-1] < 10 * sent[0]  # not by the tokens


@pytest.mark.long
def test_slicing_is_faster_for_few_requests_and_slower_for_hundreds() -> None:
    """Also with half or twice the constant of a transfer, which is least certain."""
    fixed = 58 * 2 * exchange_time.start_s()
    for n_requests in (1, 3, 8, 64, 128):
        sliced, shared = whole_s(n_requests)
        assert sliced < shared - fixed / 2
    sliced, shared = whole_s(512)
    assert sliced > shared
    sliced, shared = whole_s(768)
    assert sliced > shared + fixed
    assert whole_s(3)[0] == pytest.approx(3e-3, abs=0.1e-3)


def test_the_order_holds_with_the_links_that_all_reduces_were_measured_to_reach() -> (
    None
):
    """Slower links lengthen the bytes of an all-reduce, and not its constant."""
    more = {}
    for n_requests in (1, 64, 512):
        sliced, shared = whole_s(n_requests)
        fitted = sum(sliced_server.token_s(n_requests, link_share=None).values())
        assert (fitted < shared) is (sliced < shared)
        more[n_requests] = fitted - sliced
        half = sliced_server.token_s(n_requests, link_share=0.5)["sending"]
        full = sliced_server.token_s(n_requests)["sending"]
        assert full < half < 2 * full
    assert 0 < more[1] < 0.1e-3 < more[64] < more[512]


def test_copies_of_all_caches_fill_the_server_six_times_sooner() -> None:
    """Weights, caches and slots are added up; one more request would not fit."""
    memory = 0.9 * float(accelerator("h200-sxm").usable_bytes)  # as an engine takes
    cut = sum(t.params for t in DEEPSEEK.tensors()) - sliced_server.whole_bytes()
    weights = sliced_server.whole_bytes() + cut / GPUS
    room = sliced_server.room(1200)
    taken = weights + 563.2 * 2**20  # libraries of GPUs that share a model
    one = 1200 * ENTRY + 39 * DEEPSEEK.vocab
    assert taken + room * one <= memory < taken + (room + 1) * one
    assert 5.5 < sliced_server.shared_room(1200) / room < 6.5


def test_the_fixed_time_is_a_kernel_s_for_each_of_a_layer_s_parts() -> None:
    """Norms, projections, attention, router and experts, one by one, in eight bits."""
    grouped, mixture, latent, quantised = 5, 8, 6, 4
    count = 61 * (grouped + mixture + latent + quantised)
    assert kernel_time.kernels_s() == pytest.approx(count * kernel_time.kernel_s())
