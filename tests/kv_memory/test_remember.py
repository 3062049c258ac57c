"""The five sentences that a reader keeps, each held in every state that is shown."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from itertools import product
from statistics import mean
from typing import Any

import numpy as np
import pytest

from llmserve_lab.catalog.data.cache_layers import CACHE_LAYERS
from llmserve_lab.engine import LeastLoaded, Pool, PrefixAware, simulate
from llmserve_lab.kv_memory import formulas as f
from llmserve_lab.kv_memory import machine, serving
from llmserve_lab.kv_memory.page import controls, figures, stills
from llmserve_lab.kv_memory.page.controls import DEVICES, GROUPS, LAYERS
from llmserve_lab.kv_memory.waste import LIMIT, SERVICES, allocated, wasted
from llmserve_lab.paged_cache import PagedAllocator
from llmserve_lab.running_example import cost, model, setting
from llmserve_lab.transformer import KVCache, PagedKVStore, tiny_shape
from llmserve_lab.validation.cache_blocks import predicted


def test_a_token_takes_what_a_cache_of_the_shape_takes() -> None:
    assert model().kv_bytes_per_token() == 128 * 1024
    tiny = tiny_shape()
    ratio = model().kv_elements_per_token / tiny.kv_elements_per_token
    one_token = KVCache(tiny, capacity_tokens=1).capacity_bytes / 8
    assert one_token * 2 * ratio == model().kv_bytes_per_token()


def test_blocks_are_the_most_that_fit_beside_the_weights() -> None:
    """One block more would not fit into the share, and all of them do."""
    room = {name: float(value) for name, value in machine.room().items()}
    block = machine.BLOCK * model().kv_bytes_per_token()
    taken = model().weight_bytes() + room["beside_bytes"]
    allowed = room["memory_share"] * room["usable_bytes"]
    blocks = machine.num_blocks()
    assert taken + blocks * block <= allowed < taken + (blocks + 1) * block
    assert blocks * machine.BLOCK == 451_584


@pytest.mark.parametrize("service", SERVICES)
def test_paging_uses_nearly_all_and_a_reservation_little(service: str) -> None:
    found = wasted(service)
    assert found.share(found.contiguous) < 0.15
    assert found.share(found.contiguous) < found.share(found.powers) < 0.75
    assert found.share(found.paged[16]) > 0.99
    used, taken = allocated(service, 16)
    assert used / taken == pytest.approx(found.share(found.paged[16]), abs=0.002)
    closed = f.PAGED_SHARE(mean_held=found.used, block_tokens=16)
    assert used / taken == pytest.approx(float(closed), abs=0.002)
    closed = f.RESERVED_SHARE(mean_held=found.used, reserved_len=LIMIT)
    assert found.share(found.contiguous) == pytest.approx(float(closed))


def test_the_losses_of_a_foreseen_reservation_are_rounding_and_the_future() -> None:
    for service in SERVICES:
        found = wasted(service)
        both = found.final / found.powers * found.used / found.final
        assert found.share(found.powers) == pytest.approx(both)
        assert 0.5 < found.final / found.powers < 1
        for held, later in stills.parts(service).values():
            assert 0 < held <= held + later <= 1 + 1e-12


def test_every_bar_of_the_picture_is_less_wasteful_than_the_one_above() -> None:
    for service in SERVICES:
        found = list(stills.shares(service).values())
        assert found == sorted(found)


def test_samples_share_a_prompt_and_copy_only_what_is_written() -> None:
    prompt, answer, samples = 1_000, 200, 4
    paged = PagedAllocator(1_000, 16, prefix_caching=False, log=True)
    paged.admit(0, [1] * prompt)
    for sample in range(1, samples):
        paged.fork(0, sample)
    for sample, _ in product(range(samples), range(answer)):
        paged.append(sample, sample)
    taken = 1_000 - paged.pool.num_free
    alone = samples * -(-(prompt + answer) // 16)
    assert 1 - taken / alone == pytest.approx(0.625, abs=0.02)
    copies = [event for event in paged.pool.events or [] if event.kind == "copied"]
    assert len(copies) == samples - 1  # the last block of the prompt is half full


@pytest.mark.long
def test_prefix_aware_routing_finds_two_thirds_more_in_a_warm_run() -> None:
    load, sticky, prefix = (serving.warm(name) for name in serving.ROUTINGS)
    assert min(prefix.hit_share, sticky.hit_share) > 1.6 * load.hit_share
    assert prefix.ttft_mean_s < load.ttft_mean_s / 3
    assert prefix.ttft_p95_s < load.ttft_p95_s / 3
    assert load.hit_share > 0.3
    assert serving.without_cache().hit_share == 0


@pytest.mark.long
def test_room_is_why_routing_helps_in_a_long_run() -> None:
    """Without eviction least-loaded routing finds as much, once all is warm."""
    found = [
        serving.warm(name, kv_blocks=blocks).hit_share
        for name, blocks in (
            ("least loaded", None),
            ("least loaded", serving.NO_EVICTION),
            ("prefix-aware", None),
        )
    ]
    load, roomy, prefix = found
    assert load < 0.7 * roomy
    assert roomy == pytest.approx(prefix, abs=0.01)


@pytest.mark.long
def test_a_cold_start_finds_less() -> None:
    for name in ("least loaded", "prefix-aware"):
        assert serving.routed(name).hit_share < serving.warm(name).hit_share - 0.05


@pytest.mark.long
def test_mean_and_tail_are_shorter_too() -> None:
    load, _, prefix = (serving.warm(name) for name in serving.ROUTINGS)
    assert prefix.ttft_mean_s < load.ttft_mean_s
    assert prefix.ttft_p95_s < load.ttft_p95_s


def test_what_fits_at_full_length_is_never_preempted() -> None:
    safe = serving.preempted(None, max_batch=serving.SAFE_BATCH)
    more = serving.preempted(None, max_batch=serving.SAFE_BATCH + 8)
    ample = serving.preempted(None, kv_blocks=machine.num_blocks())
    assert safe.preemptions == ample.preemptions == 0 < more.preemptions
    assert ample.end_s < min(safe.end_s, serving.preempted(None).end_s)


@pytest.mark.parametrize("seed", [1, 2])
def test_so_it_is_with_other_requests(seed: int) -> None:
    hits = []
    for routing in (LeastLoaded(), PrefixAware(serving.SLACK)):
        pool = Pool(
            cost(),
            serving.BUDGET_POLICY,
            serving.REPLICAS,
            kv_blocks=machine.num_blocks(),
            block_tokens=machine.BLOCK,
            prefix_caching=True,
            routing=routing,
        )
        report = simulate(serving.trace(seed=seed, many=500), pool)
        hits.append((report.hit_tokens.sum(), np.median(report.ttft_s)))
    (few, late), (many, soon) = hits
    assert many > 1.5 * few
    assert soon < late


def test_the_figure_warns_where_no_count_confirms_the_formula() -> None:
    figure = figures.capacity()
    warned = {
        one.name
        for one in LAYERS
        if figure.values(model=one.name, gpu="B200 SXM", group="8", bits="FP8")[
            "unlike"
        ]
    }
    assert warned == {"gpt-oss-120b", "Llama-4 Scout", "DeepSeek-V3", "Mistral-7B v0.1"}


def test_nine_counts_are_predicted_by_the_box_each_from_the_others() -> None:
    """With the one mean of few slots, too; the box is worse only where slots decide."""
    plain, errors = (
        [abs(one.error) for one in f()] for f in (predicted, machine.boxed)
    )
    assert len(errors) == 9
    assert mean(errors) <= 0.009 and max(errors) <= 0.035
    assert [a for a, b in zip(plain, errors, strict=True) if a != b] == [plain[-1]]
    assert max(errors) == errors[-1] > plain[-1]
    assert len(machine.log_errors()) == 5
    assert max(map(abs, machine.log_errors())) < 0.006
    _, error = machine.scout()
    assert 0.6 < error < 0.7
    assert CACHE_LAYERS["llama-4-scout"].window_layers > 0  # its layers differ


@pytest.mark.long
def test_affinity_overloads_the_replica_of_a_popular_assistant() -> None:
    sticky, prefix = (
        serving.routed(name, rate=serving.HOT_RATE, hot=serving.HOT)
        for name in ("affinity by assistant", "prefix-aware")
    )
    assert sticky.ttft_p95_s > 30 * prefix.ttft_p95_s
    assert sticky.hit_share > prefix.hit_share  # it is not for want of hits
    load = serving.routed("least loaded", rate=serving.HOT_RATE, hot=serving.HOT)
    assert prefix.ttft_p95_s < load.ttft_p95_s < sticky.ttft_p95_s / 30


def test_the_latent_on_eight_gpus_leaves_an_eighth_of_the_requests() -> None:
    latent, gqa = CACHE_LAYERS["deepseek-v3"], CACHE_LAYERS["llama-3.1-70b"]
    assert controls.copies(latent, 8) == 8
    assert controls.copies(gqa, 8) == 1 and controls.copies(gqa, 16) == 2


def test_the_row_of_scout_is_counted_as_if_all_layers_kept_all_tokens() -> None:
    scout = CACHE_LAYERS["llama-4-scout"]
    assert scout.shape is not None
    left = machine.scout()[0] * machine.BLOCK * scout.naive_token_bytes()
    allowed = float(machine.room()["memory_share"]) * float(DEVICES[0].usable_bytes)
    beside = float(machine.beside_bytes())
    asked = 2 * (allowed - beside) - scout.shape.weight_bytes(1.0)
    assert left == pytest.approx(asked, rel=1e-3)


def test_the_mean_length_fits_more_than_the_full_and_then_some_pause() -> None:
    """At one stage of their answers no limit above what fits at full length is safe."""
    mean_held = serving.BURST_PROMPT + serving.BURST_ANSWER // 2
    at_mean = serving.FEW_BLOCKS * machine.BLOCK // mean_held
    assert serving.SAFE_BATCH < at_mean < serving.FULL_LOAD
    assert serving.preempted(None, max_batch=at_mean).preemptions > 0


def test_affinity_sends_an_assistant_to_one_replica() -> None:
    requests = serving.trace(many=400)
    found: dict[Hashable, set[int]] = {}
    targets: list[Any] = [None] * serving.REPLICAS
    for each in requests:
        assert each.prefix is not None
        place = serving.Sticky().choose(targets, each)
        found.setdefault(each.prefix[0], set()).add(place)
    assert {len(places) for places in found.values()} == {1}
    assert set.union(*found.values()) == set(range(serving.REPLICAS))


def test_a_preempted_answer_pauses_for_seconds_and_no_other_does() -> None:
    redo = serving.preempted(None)
    safe = serving.preempted(None, max_batch=serving.SAFE_BATCH)
    assert redo.pause_s > 30 * safe.pause_s
    assert safe.pause_s < 0.25


def test_reads_of_a_shared_prefix_alone_overload_the_hot_replica() -> None:
    """Each token of an answer reads the whole prefix, shared or not."""
    assert serving.hot_reads() > float(setting()["hbm_bw"])


def test_swapping_wins_above_the_bandwidth_that_the_formula_says() -> None:
    even = float(f.SWAP_BW.at(machine.room()))
    redo = serving.preempted(None)
    assert serving.preempted(4 * even).end_s < redo.end_s
    assert serving.preempted(even / 4).end_s > redo.end_s
    assert redo.preemptions == serving.preempted(4 * even).preemptions > 0


def test_what_does_not_fit_is_no_choice_and_all_else_is() -> None:
    figure = figures.capacity()
    for one, device, group in product(LAYERS, DEVICES, GROUPS):
        setting = {"model": one.name, "gpu": device.name, "group": str(group)}
        left = controls.cache_bytes(one, device, group, "bf16")
        if left is None:
            with pytest.raises(ValueError, match="has no value for this choice"):
                figure.values(**setting)
            continue
        values = figure.values(**setting)
        assert values["cache_bytes"] == left > 0
        assert one.shape is not None
        total = group * float(device.usable_bytes)
        assert left + one.shape.weight_bytes() < total


def test_doubling_the_context_halves_the_requests_unless_layers_differ() -> None:
    figure = figures.capacity()
    for one in LAYERS:
        setting = {"model": one.name, "gpu": "B200 SXM", "group": "8", "bits": "FP8"}
        fits = [
            figure.values(**setting, mean_held=tokens)["batch_fits"]
            for tokens in (8_192.0, 16_384.0)
        ]
        if one.window_layers:
            assert fits[0] < 2 * fits[1]
        else:
            assert fits[0] == pytest.approx(2 * fits[1])


def test_a_store_of_blocks_holds_what_its_blocks_take() -> None:
    shape = replace(tiny_shape(), n_layers=3)
    store = PagedKVStore(shape, num_blocks=5, block_tokens=16)
    held = sum(array.nbytes for array in store.blocks.values())
    assert held == 5 * 16 * shape.kv_bytes_per_token(8)


def test_the_longest_context_of_a_model_is_one_that_it_reads() -> None:
    figure = figures.capacity()
    for tokens, reads in ((131_072.0, 0.0), (131_073.0, 1.0)):
        assert figure.values(mean_held=tokens)["reads"] == reads
