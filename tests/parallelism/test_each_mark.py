"""Each bar of the live pipeline is that of its batches, full where there is no room."""

from __future__ import annotations

import pytest

from llmserve_lab import catalog, running_example
from llmserve_lab.page.live import registry
from llmserve_lab.parallelism.deployments import GpuLayout
from tests.page.cells import says
from tests.page.plot import Plot


@pytest.mark.parametrize(("stages", "batches", "batch"), [(4, 2, 16), (8, 12, 64)])
def test_each_bar_of_the_pipeline_is_its_batches(
    stages: int, batches: int, batch: int
) -> None:
    figure = registry.figures()["parallelism.pipe_rate"]()
    at = {"n_stages": stages, "n_batches": batches, "batch": batch}
    plot = Plot(figure, **{name: float(n) for name, n in at.items()})
    made = GpuLayout(stages=stages, between=catalog.link("nvlink4"))
    usable = 0.9 * float(running_example.device().usable_bytes)
    said = {int(plot.x.near(x)): str(i["text"]) for x, _, i in plot.of("text")}
    kinds = dict[int, dict[str, float]]()
    for x, y, item in plot.of("rect"):
        kind = {"gold": "bar", "grey": "full", "ink": "chosen"}[item["ink"]]
        if kind == "bar" and not float(item.get("fillOpacity", 1)):
            continue
        rate = plot.y.at(y) - plot.y.at(y + item["height"])
        kinds.setdefault(int(plot.x.near(x + item["width"] / 2)), {})[kind] = rate
    assert {*kinds} == {*said} == {1, 2, 3, 4, 6, 8, 12, 16}
    for many, found in kinds.items():
        step = made.decode(batch * many, 1000, many)
        fits = step.gpu_bytes < usable
        drawn = {"bar"} if fits else {"full"}
        assert {*found} == drawn | ({"chosen"} if many == batches else set())
        rate = batch * many / step.token_s
        assert [*found.values()] == pytest.approx(len(found) * [rate], rel=0.01)
        if fits:
            assert says(said[many], rate), many
        else:
            assert said[many] == "no room"
