"""Each line, rule, cell and readout of the live charts is what it is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from llmserve_lab import catalog
from llmserve_lab.moe import exchange_time, layer_time, serving
from llmserve_lab.moe.layer import batch
from llmserve_lab.moe.page import route_chart
from llmserve_lab.page.live import registry
from llmserve_lab.validation import working_space
from tests.page.cells import says
from tests.page.plot import Plot

FIGURES = registry.figures()
ROUTED = 58 * 256 * 3 * 7168 * 2048  # bytes of all routed experts, one each
REST = 671.03e9 - ROUTED


@pytest.mark.parametrize(("gpus", "rows"), [(32.0, 128.0), (64.0, 16.0)])
def test_each_line_and_readout_of_the_group(gpus: float, rows: float) -> None:
    figure = FIGURES["moe.group"]()
    plot = Plot(figure, ep=gpus, gpu_rows=rows)
    found = plot.lines()

    def parts(ep: float) -> dict[str, float]:
        each = serving.layer_s(ep, rows)
        sends = exchange_time.exchange_s(ep, rows)
        rest = layer_time.rest_s(rows)
        whole = max(each.values()) + sends + rest
        return each | {"send": sends, "rest": rest, "sum": whole}

    assert {*found} == {"read", "compute", "send", "sum", "rest"}
    for name, points in found.items():
        for ep, micro in points[::10]:
            want = 1e6 * parts(round(ep))[name]
            if want < 900:
                assert micro == pytest.approx(want, rel=0.01), (name, ep)
    assert plot.rules() == {"your EP size": pytest.approx(gpus, rel=0.01)}
    known, each = figure.values(ep=gpus, gpu_rows=rows), serving.layer_s(gpus, rows)
    start = exchange_time.start_s()

    def sent(way: str) -> float:
        return exchange_time.seconds(way, gpus, gpu_rows=rows, start_s=start)

    told = {
        "Tokens of an expert, mean": gpus * rows * 8 / 256,
        "The experts are": float(each["read"] >= each["compute"]),
        "Dispatch": sent("dispatch"),
        "Combine": sent("combine"),
    }
    names = {r.label: r.name for r in figure.readouts}
    assert {label: known[name] for label, name in names.items()} == pytest.approx(told)
    said = figure.caption(ep=gpus, gpu_rows=rows)
    assert says(said.partition("reads its experts for ")[2], each["read"])
    assert says(said.partition("computes for ")[2], each["compute"])


@pytest.mark.parametrize(
    ("gpu", "ep", "kept"), [("H800 SXM", 8.0, 20e9), ("H200 SXM", 16.0, 50e9)]
)
def test_each_line_rule_and_word_of_the_memory(
    gpu: str, ep: float, kept: float
) -> None:
    figure = FIGURES["moe.memory"]()
    changes = {"gpu": gpu, "ep": ep, "reserved_bytes": kept}
    plot = Plot(figure, **changes)
    ((name, points),) = plot.lines().items()
    assert name == "weights of a GPU"
    for many, gb in points[::5]:
        assert gb == pytest.approx((ROUTED / many + REST) / 1e9, rel=0.01)
    size = next(
        float(a.usable_bytes) for a in catalog.ACCELERATORS.values() if a.name == gpu
    )
    rules = plot.rules()
    assert rules["your EP size"] == pytest.approx(ep, rel=0.01)
    assert rules["memory for weights"] == pytest.approx(
        (0.9 * float(size) - working_space() - kept) / 1e9, 1e-3
    )
    held = ROUTED / ep + REST
    known = figure.values(**changes)
    assert [r.label for r in figure.readouts] == ["Weights on each GPU", "Your group"]
    assert known["gpu_weight_bytes"] == pytest.approx(held, rel=0.001)
    fits = held / 1e9 <= rules["memory for weights"]
    assert figure.caption(**changes).endswith(": fits." if fits else ": does not fit.")


@pytest.mark.parametrize(
    ("rows", "experts", "k"), [(64.0, 256.0, 8.0), (16.0, 64.0, 2.0)]
)
def test_each_line_rule_and_readout_of_the_touched(
    rows: float, experts: float, k: float
) -> None:
    figure = FIGURES["moe.touched"]()
    changes = {"n_rows": rows, "n_experts": experts, "top_k": k}
    plot = Plot(figure, **changes)

    def touched(n: float) -> float:
        return float(experts * (1 - (1 - k / experts) ** n))

    lines = plot.lines()
    assert {*lines} == {"experts read", "if all differ"}
    for n, many in lines["experts read"][::8]:
        assert many == pytest.approx(touched(n), rel=0.02, abs=0.6)
    for n, many in lines["if all differ"][::8]:
        assert many == pytest.approx(k * n, rel=0.02, abs=0.6)
    assert plot.rules() == pytest.approx(
        {"all experts": experts, "your tokens": rows}, rel=0.01
    )
    one, d = 3 * 7168 * 2048, 7168  # an expert, and a column of the router; one shared
    own = one + d * experts
    told = {
        "Experts read": touched(rows),
        "Tokens of an expert, mean": rows * k / experts,
        "Bytes read, times those of one token": (
            (touched(rows) * one + own) / (k * one + own)
        ),
    }
    known, names = figure.values(**changes), {r.label: r.name for r in figure.readouts}
    assert {label: known[n] for label, n in names.items()} == pytest.approx(
        told, rel=1e-3
    )
    times = told["Bytes read, times those of one token"]
    assert says(figure.caption(**changes).partition("batch reads ")[2], times)


@pytest.mark.parametrize(("row", "k"), [(0, 8), (2, 4)])
@pytest.mark.parametrize("rule", [0, 1, 2, 3])
def test_each_cell_of_a_route_is_an_expert_that_its_router_chose(
    rule: int, row: int, k: int
) -> None:
    """In the line of its GPU; the limit keeps to four of them."""
    figure = FIGURES["moe.route"]()
    name = [*route_chart.rules()][rule]
    changes: dict[str, Any] = {"row": f"row {row + 1}", "rule": name, "top_k": float(k)}
    router = route_chart.rules()[name]
    chosen, _ = router.route(batch(4))
    experts = sorted(int(e) for e in chosen[row][:k])
    copies = len({e // 32 for e in experts})
    known = figure.values(**changes)
    told = {
        "Copies of the row that go out": copies,
        "Bytes of a copy for each rank": copies * 2 * 7168,
        "A copy for each expert": k * 2 * 7168,
    }
    assert {r.label: known[r.name] for r in figure.readouts} == told
    assert ("four ranks" in name) <= (copies <= 4)
    if rule in (1, 3):
        plot = Plot(figure, **changes)
        found = sorted(
            round(plot.x.at(x)) + 32 * int(plot.y.near(y + item["height"] / 2))
            for x, y, item in plot.of("rect")
            if item["ink"] == "blue"
        )
        assert found == experts
    scores = np.sort(batch(4) @ router.weights["router"])[row][::-1]
    if name in ("softmax", "sigmoid"):
        best = (batch(4) @ router.weights["router"])[row][experts].min()
        assert best == pytest.approx(scores[k - 1])
