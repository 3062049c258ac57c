"""Mixtures of experts can be scored blind: tried on rows that were made up."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from llmserve_lab.validation import (
    Band,
    Setting,
    Unmeasured,
    achieved,
    band,
    dense_rows,
)
from llmserve_lab.validation.constants import record
from llmserve_lab.validation.experts import (
    COLUMNS,
    OPENED,
    SCORED,
    SHAPES,
    ExpertRow,
    expert_cost,
    expert_rows,
    main,
    measured,
    predict,
    stored_runs,
)
from llmserve_lab.validation.exposure import run
from llmserve_lab.validation.protocol import protocol_of
from llmserve_lab.validation.unit_work import bill_of, cost_of


def line(**changes: object) -> dict[str, str]:
    made = {
        "model": "Qwen/Qwen3-235B-A22B-Instruct-2507", "system": "h200_sxm",
        "engine": "vllm", "precision": "fp8", "tp": 8, "isl": 256, "osl": 16,
        "clients": 4, "ttft_ms": 60, "tpot_ms": 12,
    }  # fmt: skip
    return {name: str(value) for name, value in {**made, **changes}.items()}


OTHERS = [
    line(),
    line(model="openai/gpt-oss-120b", tp=2, precision="fp4", system="b200_sxm"),
    line(model="MiniMaxAI/MiniMax-M2.5", engine="trtllm", clients=16),
]
ROWS = expert_rows(OTHERS).rows


def test_the_shapes_have_as_many_parameters_as_their_names_say() -> None:
    totals = [shape.params_total / 1e9 for shape in SHAPES.values()]
    active = [shape.params_active / 1e9 for shape in SHAPES.values()]
    assert totals == pytest.approx([117, 235, 230], rel=0.01)
    assert active == pytest.approx([5.1, 22, 10], rel=0.05)


def test_an_iteration_reads_between_what_one_row_chose_and_all_experts() -> None:
    chosen, touched, every = (
        predict(ROWS, read=read).tpot for read in ("chosen", "touched", "all")
    )
    assert (chosen < touched).all() and (touched < every).all()


def test_what_is_touched_is_what_rows_that_draw_at_random_touch() -> None:
    row, rng = ROWS[0], np.random.default_rng(1)
    cost = expert_cost(row, achieved())
    bare = cost.weights_s
    for n_rows in (1, 4, 40):
        drawn = [
            len({e for _ in range(n_rows) for e in rng.permutation(128)[:8]})
            for _ in range(300)
        ]
        share = (cost.read_s(n_rows) - bare) / cost.experts_s
        assert share == pytest.approx(np.mean(drawn) / 128, rel=0.03)


def test_the_engine_itself_takes_as_long() -> None:
    """The benchmark is run once more, with the real times instead of counts."""
    made = predict(ROWS)
    for place, row in enumerate(ROWS):
        report = run(row, expert_cost(row, achieved()), protocol=protocol_of(row))
        ttft = float(np.mean(report.ttft_s)) + achieved().client_s
        assert made.ttft[place] == pytest.approx(ttft, rel=1e-9)


def test_weights_in_four_bits_are_widened_where_nothing_computes_in_four() -> None:
    of = {"model": "openai/gpt-oss-120b", "precision": "w4a16_mxfp4", "tp": "2"}
    hopper, blackwell = expert_rows(
        [line(**of, system=system) for system in ("h100_sxm", "b200_sxm")]
    ).rows
    kv_bytes = protocol_of(hopper).kv_bytes
    assert bill_of(hopper, kv_bytes=kv_bytes).speedup == 1
    assert bill_of(blackwell, kv_bytes=kv_bytes).speedup > 3


def test_reading_all_experts_is_the_dense_bill() -> None:
    row = ROWS[1]  # two devices, eight KV heads: no copies
    dense = cost_of(bill_of(row, kv_bytes=protocol_of(row).kv_bytes), achieved())
    assert expert_cost(row, achieved(), read="all").weights_s == pytest.approx(
        dense.weights_s
    )


def test_a_file_is_scored_with_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = predict(ROWS)
    times = [
        {"ttft_ms": str(1e3 * ttft), "tpot_ms": str(1e3 * tpot / 1.25)}
        for ttft, tpot in zip(made.ttft, made.tpot, strict=True)
    ]
    bad = [
        line(model="meta/unknown"),
        line(tp=16),
        line(clients=0),
        line(precision="int4"),
        line(tpot_ms="nan"),
        line(tp=1),
    ]
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, COLUMNS)
        writer.writeheader()
        writer.writerows([{**a, **b} for a, b in zip(OTHERS, times, strict=True)] + bad)
    main(path)
    said = capsys.readouterr().out
    assert "left out: 1, the weights leave no room for a cache" in said
    assert "left out: 1, tp must be at most 8, got 16" in said
    assert said.count("left out: 1") == 6
    assert "all: 3 runs; tpot 25.0 %, bias +25.0 %; ttft 0.0 %, bias" in said


def test_what_cannot_be_scored_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("model,system\nx,y\n")
    with pytest.raises(ValueError, match="must have the columns engine, precision"):
        main(path)
    with pytest.raises(ValueError, match="rows must hold at least one measured row"):
        predict([])
    with pytest.raises(ValueError, match="row must be of a mixture of experts"):
        expert_cost(dense_rows()[0], achieved())
    with pytest.raises(ValueError, match="read must be one of"):
        expert_cost(ROWS[0], achieved(), read="some")  # type: ignore[arg-type]


def test_measured_times_are_those_of_the_rows() -> None:
    row = ROWS[0]
    assert isinstance(row, ExpertRow)
    found = measured(ROWS)
    assert found.e2e[0] == pytest.approx(row.ttft_s + row.tpot_s * 15)


def test_the_recorded_blind_errors_are_those_of_the_stored_runs() -> None:
    """Means and biases by model, counted again from the errors run by run."""
    known = record()["experts"]
    names = np.array([row.model for row in stored_runs()])
    for kind in SCORED:
        error = np.array(known["errors"][kind])
        assert len(error) == len(stored_runs())
        for name, scores in known["blind"].items():
            own = error[(names == name) | (name == "all")]
            assert scores[kind]["n"] == len(own)
            assert scores[kind]["mean"] == pytest.approx(np.abs(own).mean(), rel=1e-3)
            assert scores[kind]["bias"] == pytest.approx(own.mean(), abs=1e-4)
            assert scores[kind]["low"] < scores[kind]["mean"] < scores[kind]["high"]


def test_a_score_by_model_is_the_mean_over_all() -> None:
    for sort in ("blind", "facts alone", "model left out", "in sample"):
        found = {name: each["tpot"] for name, each in record()["experts"][sort].items()}
        everything = found.pop("all")
        assert set(found) == set(SHAPES)
        total = sum(each["n"] * each["mean"] for each in found.values())
        assert total / everything["n"] == pytest.approx(everything["mean"], rel=1e-3)


def test_the_runs_were_blind_until_they_were_opened() -> None:
    assert (OPENED.kind, OPENED.date) == tuple(record()["experts"]["status"])
    assert not any(row.public for row in stored_runs())


def test_a_mixture_gets_its_band_from_runs_of_mixtures() -> None:
    lengths = {"prompt_len": 1024, "output_len": 1024, "tp": 8, "clients": 32}
    here = Setting.on("qwen3-235b-a22b", "h100-sxm", precision="fp8", **lengths)
    found = band("tpot", here)
    assert isinstance(found, Band) and found.n == 60
    assert "in view" in found.how and "235B" in found.regime
    dense = band("tpot", replace(here, total=0.0, params=3e10))
    assert isinstance(dense, Band) and found.high > dense.high
    first = band("ttft", here)
    assert isinstance(first, Unmeasured) and "public protocol" in first.reason


def test_bands_of_mixtures_hold_most_of_their_runs() -> None:
    """Whatever model, GPU or engine is left out, all together hold nine in ten."""
    for by, kinds in record()["mixtures"]["held"].items():
        for names in kinds.values() if by != "source" else ():
            held = sum(n * share for n, share in names.values())
            assert held / sum(n for n, _ in names.values()) >= 0.9 - 1e-4
