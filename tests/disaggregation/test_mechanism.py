"""The pipeline and the fleet do what they say, and refuse what cannot be."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmserve_lab import catalog
from llmserve_lab.catalog import machine, workload
from llmserve_lab.disaggregation import capacity_sim
from llmserve_lab.disaggregation import formulas as f
from llmserve_lab.disaggregation.kv_transfer_timeline import (
    hand_over,
    late_s,
    routes,
    timeline,
)
from llmserve_lab.disaggregation.queueing import wait_table
from llmserve_lab.disaggregation.tiers import TieredStore

times = st.floats(0.01, 100)
LONG = (
    workload(catalog.model("llama-2-7b"))
    | machine(catalog.accelerator("h100-sxm"))
    | {"prompt_len": 131_072, "new_tokens": 200, "tpot_target": 0.025, "overlap": 0}
    | {"overhead_s": 0.002, "link_bw": 5e10, "eff_link": 1, "arrival_rate": 50}
)


@given(st.integers(1, 40), times, times)
def test_the_pipeline_ends_where_the_closed_form_says(
    n_layers: int, prefill_s: float, transfer_s: float
) -> None:
    here = {"n_layers": n_layers, "prefill_s": prefill_s, "transfer_s": transfer_s}
    by_layers = late_s(hand_over(**here, streamed=True))  # type: ignore[arg-type]
    at_the_end = late_s(hand_over(**here, streamed=False))  # type: ignore[arg-type]
    assert by_layers == pytest.approx(float(f.EXPOSED_S(**here)), rel=1e-6)
    assert at_the_end == pytest.approx(transfer_s)
    assert by_layers <= at_the_end * (1 + 1e-9)


@given(st.integers(1, 20), times, times, st.booleans())
def test_no_layer_is_sent_before_it_is_made_nor_two_at_once(
    n_layers: int, prefill_s: float, transfer_s: float, streamed: bool
) -> None:
    layers = hand_over(
        n_layers=n_layers,
        prefill_s=prefill_s,
        transfer_s=transfer_s,
        streamed=streamed,
    )
    assert len(layers) == n_layers
    assert all(layer.begun_s >= layer.made_s for layer in layers)
    pairs = pairwise(layers)
    assert all(one.sent_s <= other.begun_s for one, other in pairs)


def test_the_timeline_says_what_outlasts_the_prefill() -> None:
    known = capacity_sim.sizes(n_layers=4)
    keys = ("infiniband-ndr",)
    drawn = timeline(known, prompt_len=4096, links=keys)
    assert "NDR, at the end 10.7 ms; NDR, by layers 2.68 ms" in drawn.sentence


def test_host_memory_is_two_copies_more() -> None:
    """Copied down, sent, copied up: each counted by its own bytes and bandwidth."""
    rows = {
        row[0]: row[2] for row in routes(capacity_sim.sizes(), prompt_len=4096).rows
    }
    made = 4096 * catalog.model("llama-3-8b").kv_bytes_per_token(2)
    bandwidths = [
        float(catalog.link(k).bandwidth) for k in ("infiniband-ndr", "pcie-gen5")
    ]
    sent, copied = (made / each for each in bandwidths)
    near, direct, hosted = (
        float(str(each).removesuffix(" ms")) for each in rows.values()
    )
    assert direct == pytest.approx(1e3 * sent, rel=5e-3)
    assert hosted == pytest.approx(1e3 * (sent + 2 * copied), rel=5e-3)
    assert near < direct / 5


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: hand_over(n_layers=0, prefill_s=1, transfer_s=1, streamed=True),
            "n_layers must be at least 1, got 0",
        ),
        (
            lambda: hand_over(n_layers=1, prefill_s=-1, transfer_s=1, streamed=True),
            "prefill_s must be finite and at least 0, got -1",
        ),
        (lambda: f.SHARED_GPUS.at(LONG), "tbt_batch must be at least 1, got 0.9"),
        (lambda: f.POOLS_GPUS.at(LONG), "tbt_batch must be at least 1, got 0.9"),
        (
            lambda: f.FREE_ROWS.at(capacity_sim.sizes(batch=5000, context=256)),
            "free_rows must be at least 0, got -",
        ),
        (lambda: TieredStore(()), "capacities must be 0 blocks or more"),
        (lambda: TieredStore((1, -1)), "capacities must be 0 blocks or more"),
    ],
)
def test_what_cannot_be_is_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_answers_of_one_token_take_no_decode_gpu() -> None:
    known = capacity_sim.sizes(
        prompt_len=2048, new_tokens=1, tpot_target=0.025, overlap=1
    )
    known |= {"overhead_s": 0, "arrival_rate": 20}
    assert f.DECODE_GPUS.at(known) == f.POOL_RATIO.at(known) == 0
    busy = float(f.PREFILL_GPU_S.at(known)) * 20
    assert f.POOLS_GPUS.at(known) == math.ceil(busy)


def test_a_sweep_of_splits_is_what_each_split_is() -> None:
    splits = partial(
        capacity_sim.splits,
        n_gpus=3,
        prompt_len=16_384,
        new_tokens=20,
        tpot_target=0.015,
    )
    with ThreadPoolExecutor(2) as executor:
        found = splits(executor=executor)
    assert repr(found) == repr(splits())
    assert [row[0] for row in found.rows] == ["1P:2D", "2P:1D"]
    assert all(float(str(row[3])) == pytest.approx(1, abs=0.06) for row in found.rows)


@pytest.mark.parametrize(
    ("prompt_len", "more"),
    [
        (32_768, {"tpot_target": 0.02}),
        (16_384, {"tpot_target": 0.025, "overlap": 0.0, "overhead_s": 0.002}),
        (16_384, {"tpot_target": 0.025, "overlap": 0.5, "n_prefill": 2}),
    ],
)
def test_the_simulated_rates_are_those_of_the_closed_forms(
    prompt_len: int, more: dict[str, Any]
) -> None:
    found = capacity_sim.rates_table(prompt_len, new_tokens=50, **more)
    for row in found.rows:
        _, one, one_simulated, two, two_simulated = (float(str(cell)) for cell in row)
        assert one_simulated == pytest.approx(one, rel=0.03)
        assert two_simulated == pytest.approx(two, rel=0.03)


def test_the_simulated_wait_is_that_of_a_queue() -> None:
    for row in wait_table(prompt_len=2048).rows:
        assert float(str(row[3])) == pytest.approx(1, abs=0.06)
