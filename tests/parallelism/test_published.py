"""Published runs: counted again from shapes, and how far off the prediction is."""

from __future__ import annotations

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.catalog.evidence import long_context
from llmserve_lab.engine.timing.load import IterationLoad
from llmserve_lab.parallelism import published, ring_time
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
    load = IterationLoad(rows, pairs, 0, 1, 1)
    plain_s = published.plain_cost(8).compute_s(load)
    assert plain_s == pytest.approx(work)


def test_the_printed_utilisation_is_of_the_printed_peak() -> None:
    """So the GPU that the paper describes is the one that its 63% counts against."""
    reached = published.flops(MILLION.tokens) / 77 / 128
    assert reached / float(long_context.LONG_PEAK) == pytest.approx(0.63, abs=0.005)
    assert reached / float(long_context.LONG_ATTENTION) == pytest.approx(0.93, abs=0.01)


def test_the_gpu_as_described_is_slower_and_its_light_weights_are_faster() -> None:
    """Attention by the peaks; products also by the weights with half of the bits."""
    told, plain = published.cost(8), published.plain_cost(8)
    slower = 989.4 / 800
    assert told.pair_s == pytest.approx(slower * plain.pair_s, rel=1e-3)
    assert slower / 2 * plain.row_s < told.row_s < slower * plain.row_s
    wide = 3 * 16_384 * 53_248 * 126 / sum(t.params_active for t in BIG.tensors())
    bits = (1 - wide) * 2 + wide
    assert told.weights_s / plain.weights_s == pytest.approx(bits / 2 * 3.35 / 2.4)


def test_how_far_off_it_is() -> None:
    """Told on the page: within a sixth but for the shortest prompt on most servers."""
    errors = {
        (run.name, run.tokens): published.predict(run).error for run in published.RUNS
    }
    worst = min(errors, key=errors.__getitem__)
    assert worst == ("CP 16 × TP 8", 128_000) and errors.pop(worst) < -0.3
    assert max(map(abs, errors.values())) < 0.17
    assert sum(error < 0 for error in errors.values()) == len(errors) - 1
    (group,), rings = published.farther()
    assert group == pytest.approx(0.87, abs=0.005) and group < 1
    assert (len(rings), min(rings), max(rings)) == pytest.approx(
        (4, 1.12, 1.53), abs=0.005
    )


def test_a_group_over_servers_gains_less_than_a_ring_and_less_than_predicted() -> None:
    took = {run.name: run for run in published.RUNS if run.tokens == SHORT.tokens}
    alone, ring, group = (
        float(took[name].seconds) for name in ("TP 8", "CP 2 × TP 8", "TP 16")
    )
    assert alone / ring > 1.9 and alone / group < 1.45
    for predicted, measured in published.token_changes().values():
        assert predicted < measured
    two, four = published.token_changes().values()
    assert abs(two[0] / two[1] - 1) < 0.06 and four[0] / four[1] < 0.75


def test_the_border_is_below_where_the_measured_times_turn() -> None:
    """Laid out by hand from their rates; from there pass-KV exposes less, or ties."""
    last_q, first_kv = published.turned()
    assert published.border() < last_q < first_kv == 2 * last_q
    width, heads = 128, 128
    flops, port = float(long_context.LONG_ATTENTION), float(long_context.RING_PORT)

    def exposed(new: float) -> tuple[float, float]:
        rows, block, layers = new / 4, 128_000 / 4, 126
        pair = 4 * heads * width * layers
        step_s = rows * (128_000 - new / 2) / 4 * pair / flops
        kv_s = block * 2 * 8 * width * 2 * layers / port
        out_s = rows * heads * (width + 1) * 2 * layers / port
        q_s = rows * heads * width * 2 * layers / port
        return max(0, kv_s - step_s), max(0, q_s - step_s) + out_s

    for factor, kv_is_less in ((0.99, False), (1.01, True)):
        kv, q = exposed(factor * published.border() * 128_000)
        assert (kv < q) is kv_is_less
    assert published.dearest_choice() == pytest.approx(0.015, abs=5e-4)


def test_a_border_beyond_the_even_share_is_that_share() -> None:
    even = ring_time.border_share(1e9, 1000, BIG)
    assert even == pytest.approx(0.062, abs=0.001)
    assert ring_time.border_share(1.0, 1e6, BIG) < 1e-5
    with pytest.raises(ValueError, match="block must be positive, got 0"):
        ring_time.border_share(1.0, 0, BIG)


def test_the_weights_do_not_fit_in_sixteen_bits() -> None:
    server = 8 * float(running_example.device().usable_bytes)
    assert BIG.params_total < server < 2 * BIG.params_total


def test_the_ring_of_the_published_runs_is_hidden() -> None:
    for run in published.RUNS:
        assert published.predict(run).ring_s == 0
    few = published.exposed_s(100, 16, published.cost(8))
    assert few > 0


def test_each_column_of_the_servers() -> None:
    """A ring of one server and a group in one are the same run, which stands twice."""
    table, seen = published.table(), []
    for label, *cells in table.rows:
        tokens = {"128K": 128_000, "1M": 10**6}[str(label).split(",")[0]]
        for servers, cell in zip(map(int, table.columns[1:]), cells, strict=True):
            ranks, tp = (servers, 8) if "ring" in str(label) else (1, 8 * servers)
            runs = [
                run
                for run in published.RUNS
                if (run.tokens, run.ranks, run.tp) == (tokens, ranks, tp)
            ]
            assert (cell == "\u2013") is (not runs)
            for run in runs:
                both = float(run.seconds), published.predict(run).seconds
                assert str(cell) == " / ".join(f"{each:.2f}" for each in both)
            seen += runs
    assert {*seen} == {*published.RUNS} and len(seen) == len(published.RUNS) + 1
