"""Shares come from kernels run alone; what lies between products is played out."""

from typing import Any

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence.kernels import CAUSAL_RUNS, PRODUCT_RUNS, ProductRun
from llmserve_lab.deepseek.calibration.kernel_efficiency import (
    HEADLINES,
    PEAKS,
    Shares,
    blackwell,
    generation,
    hopper,
    product_rates,
)
from llmserve_lab.deepseek.calibration.routing_balance import balance_reached
from llmserve_lab.deepseek.model.assumptions import Choices
from llmserve_lab.deepseek.model.elementwise_kernels import (
    ABSORBED,
    AT_HOME,
    OF_A_COPY,
    VANILLA,
    moved,
)
from llmserve_lab.deepseek.model.setup import SETUPS

PLACE = SETUPS["9 × 8 H100"]
SIZES = [56, 53_888, 289_984, 150_528]  # groups, rows, columns out, columns in
HALF, BYTE = np.float16, np.uint8  # as wide as BF16 and FP8


@pytest.mark.parametrize("run", PRODUCT_RUNS)
def test_both_printed_rates_speak_of_the_same_traffic(run: ProductRun) -> None:
    """FLOP/s and byte/s were printed apart; the shapes tie them together."""
    found = float(run.bytes_per_s) * run.seconds
    assert found == pytest.approx(run.traffic_bytes, rel=0.01)


def test_the_tables_add_up_as_they_were_printed() -> None:
    """Columns added up from the page: no digit was changed on the way."""
    columns = [(r.groups, r.rows, r.n_out, r.n_in) for r in PRODUCT_RUNS]
    assert [sum(column) for column in zip(*columns, strict=True)] == SIZES
    assert sum(float(run.flops_per_s) for run in PRODUCT_RUNS) == 21_528e12
    assert sum(float(run.bytes_per_s) for run in PRODUCT_RUNS) == 42_023e9
    assert sum(map(float, CAUSAL_RUNS.values())) == (423 + 521 + 579 + 602 + 616) * 1e12


def test_no_other_rates_describe_the_kernels_better() -> None:
    """Walk away from the solution in every direction: the squares add up to more."""
    rates = np.array(product_rates())

    def squares(tried: np.ndarray) -> float:
        compute, read, start = tried
        took = [
            start + np.hypot(run.flops / compute, run.traffic_bytes / read)
            for run in PRODUCT_RUNS
        ]
        seconds = [run.seconds for run in PRODUCT_RUNS]
        return float(((np.log(took) - np.log(seconds)) ** 2).sum())

    best = squares(rates)
    for axis in range(3):
        for step in (0.98, 1.02):
            away = rates.copy()
            away[axis] *= step
            assert squares(away) > best
    assert np.sqrt(best / len(PRODUCT_RUNS)) < 0.15


def test_a_round_roofline_describes_them_better_than_a_sharp_one() -> None:
    compute, read, start = product_rates()
    errors = {"round": [0.0], "sharp": [0.0]}
    for run in PRODUCT_RUNS:
        parts = run.flops / compute, run.traffic_bytes / read
        errors["round"].append(start + float(np.hypot(*parts)) - run.seconds)
        errors["sharp"].append(start + max(parts) - run.seconds)
    found = {name: float(np.square(each).sum()) for name, each in errors.items()}
    assert found["round"] < found["sharp"]


def test_kernels_reach_less_than_their_librarys_headline() -> None:
    assert hopper().products < HEADLINES.products < PEAKS.products == 1
    assert hopper().memory < HEADLINES.memory
    assert blackwell().attention < hopper().attention
    assert 0.3 < blackwell().attention < 0.45


def test_longer_prompts_reach_more() -> None:
    lengths = np.linspace(min(CAUSAL_RUNS), max(CAUSAL_RUNS), 50)
    shares = [hopper().attention_in(float(length)) for length in lengths]
    assert np.diff(shares).min() > 0
    assert HEADLINES.attention_in(1024) == HEADLINES.attention


def test_every_generation_has_its_set() -> None:
    found = {
        key: generation(catalog.accelerator(key)) for key in ("b200-sxm", "mi300x")
    }
    assert found == {"b200-sxm": "blackwell", "mi300x": "hopper"}
    assert {share.name for share in Choices().shares.values()} == {
        "Hopper's kernels",
        "June's kernels",
    }


def test_routing_was_uneven_and_experts_are_only_part_of_a_step() -> None:
    """A sixth of the throughput lost takes more than a sixth of the balance."""
    assert 0.6 < balance_reached() < 50_302 / 59_337


@pytest.mark.parametrize("name", ["attention", "memory", "near"])
def test_a_share_is_a_share(name: str) -> None:
    names = ("attention", "products", "memory", "far", "near")
    parts: dict[str, Any] = dict.fromkeys(names, 0.5)
    with pytest.raises(ValueError, match=rf"{name} must be a share in \(0, 1\], got 2"):
        Shares(name="wrong", **(parts | {name: 2.0}))
    with pytest.raises(ValueError, match="start_s must be at least 0 s, got -1"):
        Shares(name="wrong", start_s=-1, **parts)
    with pytest.raises(ValueError, match="trip_s must be at least 0 s, got nan"):
        Shares(name="wrong", trip_s=float("nan"), **parts)


def played(*numbers: tuple[int, type]) -> int:
    """Bytes of arrays that a row has at one place after the other."""
    return sum(np.empty(width, kind).nbytes for width, kind in numbers)


def test_a_row_moves_what_arrays_of_its_layer_hold() -> None:
    """Every array that a kernel reads or writes, made and weighed."""
    model, heads, latent, rotary, query, expert = 7168, 128, 512, 64, 1536, 2048
    before = played(
        *[(model, HALF)] * 4,  # residual and addend in, sum and norm out
        *[(model, HALF), (model, BYTE)],
        *[(query, HALF)] * 2,
        *[(latent, HALF)] * 2,
        *[(query, HALF), (query, BYTE)],
        *[(model, BYTE), (query + latent + rotary, HALF)],  # products, down and up
        *[(query, BYTE), (heads * (128 + rotary), HALF)],
    )
    after = played(
        *[(latent + rotary, HALF)] * 2,
        *[(heads * 128, HALF), (heads * 128, BYTE)],
        *[(heads * 128, BYTE), (model, HALF)],  # the product of the output
    )
    absorbed = played(
        *[((heads + 1) * rotary, HALF)] * 2,
        *[(heads * 128, HALF), (heads * latent, HALF)] * 2,
        *[(heads * (latent + rotary), HALF), (heads * latent, HALF)],  # attention
    )
    vanilla = played(
        *[(heads * (128 + rotary), HALF)] * 2,
        *[(latent, HALF), (latent, BYTE)],
        *[(latent, BYTE), (heads * 2 * 128, HALF)],  # keys and values made
        *[(heads * 128, HALF), (heads * (128 + rotary), HALF)],
        *[(heads * (128 + rotary), HALF)] * 2,  # attention: queries and keys
        *[(heads * 128, HALF)] * 2,  # values in, results out
    )
    assert moved(ABSORBED, PLACE) == before + after + absorbed
    assert moved(VANILLA, PLACE) == before + after + vanilla
    assert moved(AT_HOME, PLACE) == played(
        *[(model, HALF)] * 4,
        (model, HALF),  # router
        *[(model, HALF), (model, BYTE)] * 2,
        *[(model, BYTE), (2 * expert, HALF)],  # the shared expert, up
        *[(expert, HALF)] * 3,
        *[(expert, HALF), (expert, BYTE)],
        *[(expert, BYTE), (model, HALF)],  # and down
        *[(model, HALF)] * 4,
    )
    assert moved(OF_A_COPY, PLACE) == played(
        *[(model, BYTE)] * 2,
        *[(expert, HALF)] * 4,  # up writes two, activating reads them
        *[(expert, BYTE)] * 2,  # and writes one, which down reads
        *[(model, HALF)] * 3,
    )
