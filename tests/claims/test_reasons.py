"""What a reason asserts beyond its numbers is played out here."""

import pytest

from llmserve_lab.catalog import MODELS
from llmserve_lab.claims import CLAIMS, Number
from llmserve_lab.claims.article_06.cache import DEEPSEEK, against_llama, times_smaller
from llmserve_lab.claims.article_06.cost import batch_cancels, rows_do_not_meet
from llmserve_lab.claims.article_06.hierarchy import LEVELS, orders
from llmserve_lab.claims.article_06.setting import (
    BATCH,
    CHUNK,
    H100,
    LLAMA,
    K,
    at,
    decode,
    gib_as_gb,
    kib_as_kb,
    prefill,
    setting,
)
from llmserve_lab.roofline import formulas as f
from llmserve_lab.roofline.iteration_count import walk


def article_walk(context: int) -> float:
    """KV bytes of one decode step, counted request by request."""
    return walk(LLAMA, batch=BATCH, context=context, chunk=1).kv_read_bytes


@pytest.mark.parametrize("thousands", [1, 4, 16, 64])
def test_binary_gigabytes_make_the_article_s_cells_whole(thousands: int) -> None:
    counted = article_walk(thousands * K)
    assert decode(f.KV_READ_BYTES, thousands) == counted
    assert counted / 2**30 == gib_as_gb(counted) / 1e9 == 16 * thousands


def test_a_token_leaves_512_kib() -> None:
    counted = LLAMA.kv_bytes_per_token()
    assert at(f.KV_BYTES_PER_TOKEN) == counted == 512 * 2**10
    assert kib_as_kb(counted) == 512e3


def test_the_article_s_ridge_uses_half_the_peak() -> None:
    share = at(f.RIDGE) / at(f.RIDGE, eff_compute=1)
    assert (
        share == pytest.approx(float(setting()["eff_compute"])) and 0.5 < share < 0.51
    )


@pytest.mark.parametrize("thousands", [0, 1, 4, 64, 256, K, 16 * K, 10**6])
def test_prefill_never_comes_down_to_the_ridge(thousands: int) -> None:
    assert prefill(f.INTENSITY, thousands) > CHUNK > at(f.RIDGE, eff_compute=1)


def test_without_attention_it_would() -> None:
    assert (
        prefill(f.LINEAR_INTENSITY, K) < at(f.RIDGE) < prefill(f.LINEAR_INTENSITY, 256)
    )


def test_decode_levels_off_where_the_article_lets_it_fall() -> None:
    assert decode(f.INTENSITY, 10**6) == pytest.approx(1, rel=1e-3)
    assert decode(f.LINEAR_INTENSITY, 10**6) < 1e-4
    assert decode(f.INTENSITY, 64) < at(f.RIDGE)


def test_past_the_crossover_the_batch_hardly_matters() -> None:
    at_64k = {"chunk": 1, "context": 64 * K}
    one, many = (at(f.LINEAR_INTENSITY, batch=b, **at_64k) for b in (64, 64_000))
    assert many == pytest.approx(one, rel=0.01)
    assert batch_cancels() and rows_do_not_meet()


def test_the_row_at_4k_is_too_large_and_the_row_at_1k_is_not() -> None:
    memory = setting()["hbm_bytes"]
    assert decode(f.ITERATION_BYTES, 1) < memory < decode(f.ITERATION_BYTES, 4)
    assert decode(f.BATCH_FITS, 1) > BATCH > decode(f.BATCH_FITS, 4)


def test_gqa_saves_what_the_article_says_in_most_models_and_mla_far_more() -> None:
    saved = {
        (model.attention.kind, model.name): times_smaller(model)
        for model in MODELS.values()
    }
    gqa = {name: s for (kind, name), s in saved.items() if kind == "GQA"}
    mla = {name: s for (kind, name), s in saved.items() if kind == "MLA"}
    most = [name for name, s in gqa.items() if 4 <= s <= 8]
    assert len(most) > 2 * (len(gqa) - len(most)) > 0
    assert min(mla.values()) > 8 * 3 and 4 <= against_llama(DEEPSEEK) <= 8


def test_only_capacity_spans_three_orders() -> None:
    assert 3 <= orders("bytes") <= 4
    assert orders("bandwidth", "shared memory") < 1 < orders("bandwidth") < 2.5
    bandwidths = [float(level.bandwidth) for level in LEVELS.values()]
    assert bandwidths == sorted(bandwidths, reverse=True)
    assert LEVELS["HBM"].bandwidth is H100.hbm_bw


@pytest.mark.parametrize("id", ["06-08", "06-11", "06-14", "06-27", "06-30", "06-33"])
def test_a_cell_of_the_cache_is_whole_in_gib_and_nowhere_near_in_gb(id: str) -> None:
    (cell,) = CLAIMS[id].parts
    assert isinstance(cell, Number)
    (reading,) = cell.readings.values()
    in_gib, in_gb = reading(), cell.value()
    assert isinstance(in_gib, float) and isinstance(in_gb, float)
    assert cell.parsed.states(in_gib) and not cell.parsed.admits(in_gb)
