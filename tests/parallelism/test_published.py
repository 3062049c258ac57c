"""Published runs: counted again from shapes, and how far off the prediction is."""

from __future__ import annotations

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog.evidence import long_context
from llmserve_lab.parallelism import published
from llmserve_lab.parallelism.dealing import pairs_of, zigzag

BIG = catalog.model(published.MODEL)
SHORT, MILLION = long_context.LONG_PREFILLS


def test_zigzag_gives_each_server_its_sixteenth() -> None:
    shares = [pairs_of(part) for part in zigzag(16 * 64, 16)]
    whole = 16 * 64 * (16 * 64 + 1) // 2
    assert {16 * share for share in shares} == {whole}


def test_the_flops_are_counted_layer_by_layer() -> None:
    spec, n = BIG.attention, 1000
    linear = sum(2 * n * tensor.params_active for tensor in BIG.tensors())
    pairs = sum(2 * 2 * spec.n_heads * spec.d_head * (i + 1) for i in range(n))
    assert published.flops(n) == pytest.approx(linear + BIG.n_layers * pairs, rel=1e-12)


def test_the_prediction_has_no_constant_of_its_own() -> None:
    """The same machine as on every other page, asked for a sixteenth of the work."""
    cost = running_example.served_by(BIG, catalog.accelerator("h100-sxm"), tp=8)
    rows = MILLION.tokens // 16
    pairs = MILLION.tokens * (MILLION.tokens + 1) // 2 // 16
    work = rows * cost.row_s + pairs * cost.pair_s
    assert published.predict(MILLION).compute_s == pytest.approx(work)


def test_how_far_off_it_is() -> None:
    """Told on the page: too short in every reading, within 15 % in one of them."""
    errors = {way: published.predict(MILLION, way).error for way in published.WAYS}
    assert all(error < 0 for error in errors.values())
    assert errors["16 bits"] == pytest.approx(-0.25, abs=0.01)
    assert abs(errors["16 bits, slower GPU"]) < 0.15
    assert published.predict(SHORT).error == pytest.approx(-0.37, abs=0.01)


def test_the_weights_do_not_fit_in_sixteen_bits() -> None:
    server = 8 * float(running_example.device().usable_bytes)
    assert BIG.params_total < server < 2 * BIG.params_total


def test_the_ring_of_the_published_runs_is_hidden() -> None:
    for run in long_context.LONG_PREFILLS:
        assert run.tokens // 16 > published.ring_rows()
        assert published.predict(run).ring_s == 0
    few = published.exposed_s(100, 16, published.costs()["16 bits"])
    assert few > 0


def test_a_group_beats_a_pipeline_at_least_latency_as_reported() -> None:
    predicted, reported = published.least_latency()
    assert reported == float(long_context.TENSOR_OVER_PIPELINE)
    assert predicted / reported - 1 == pytest.approx(0.08, abs=0.01)


def test_the_table_has_only_what_was_not_taken_from_its_own_measurement() -> None:
    """The slower peak is the million's own time: a product, not a prediction."""
    run = long_context.LONG_PREFILLS[-1]
    slower = published.costs()[published.WAYS[2]].row_s
    assert slower == pytest.approx(
        published.costs()["16 bits"].row_s * 989.4e12 / published.implied_peak(),
        rel=1e-3,
    )
    share = published.flops(run.tokens) / published.implied_peak() / 128
    assert share == pytest.approx(0.63 * float(run.seconds))
    assert published.WAYS[2] not in published.TABLED


def test_every_line_of_the_table_closes_on_its_own_numbers() -> None:
    """Parts add up to the whole, and the whole gives the error, as they are printed."""
    for row in published.table().rows:
        parts, fixed, whole, measured = (
            float(str(cell).split()[0]) for cell in row[2:6]
        )
        assert parts + fixed == pytest.approx(whole, abs=0.0011)
        printed = str(row[6]).replace("−", "-").split()[0]
        assert round(100 * (whole / measured - 1)) == int(printed)


def test_eight_bits_speed_up_products_and_leave_attention_alone() -> None:
    plain, light = (published.costs()[way] for way in published.TABLED)
    assert light.pair_s == plain.pair_s and light.row_s < plain.row_s
    assert light.weights_s == plain.weights_s / 2


def test_the_utilisation_is_that_of_a_slower_peak() -> None:
    reached = published.flops(MILLION.tokens) / 77 / 128
    assert reached / published.implied_peak() == pytest.approx(0.63)
    assert published.implied_peak() < 0.85 * 989e12


def test_without_its_bits_a_run_has_two_errors_and_16_bits_has_the_smaller() -> None:
    for run in long_context.LONG_PREFILLS:
        plain, light = (published.predict(run, way) for way in published.TABLED)
        assert light.seconds < plain.seconds < float(run.seconds)
