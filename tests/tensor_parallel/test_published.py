"""Predicted gains of twice the GPUs beside measured ones."""

from __future__ import annotations

import pytest

from llmserve_lab.collectives import calibration
from llmserve_lab.page.banded import BandTable
from llmserve_lab.page.live.readout import Readout
from llmserve_lab.tensor_parallel import published
from llmserve_lab.tensor_parallel.page import figures, stills
from llmserve_lab.tensor_parallel.published import Doubling
from llmserve_lab.validation import dense_rows
from tests.page import drawn


def test_pairs_differ_in_nothing_but_their_gpus() -> None:
    found = published.doublings()
    assert published.num_rows() == 441 and len(found) == 327
    measured = {(r.server, r.prompt_len, r.output_len, r.clients) for r in dense_rows()}
    for each in found:
        row = each.row
        twin = row.server.replace(f"TP {row.tp}", f"TP {each.n_gpus}")
        assert (twin, row.prompt_len, row.output_len, row.clients) in measured


def test_a_gain_is_predicted_within_a_few_percent() -> None:
    for degree in (2, 4, 8):
        assert published.mean_error(published.by_degree(degree)) < 0.07


def test_each_doubling_gains_less() -> None:
    for name in ("measured", "predicted"):
        means = [
            sum(getattr(each, name) for each in found) / len(found)
            for found in (published.by_degree(degree) for degree in (2, 4, 8))
        ]
        assert 2 > means[0] > means[1] > means[2] > 1


def test_a_pair_that_is_no_doubling_is_refused() -> None:
    row = published.doublings()[0].row
    with pytest.raises(ValueError, match="n_gpus must be twice"):
        Doubling(row, 3 * row.tp, 1.0, 1.0)


@pytest.mark.parametrize("degree", stills.INKS)
def test_each_axis_of_the_gains_has_what_it_is_called(degree: int) -> None:
    """Marks are a fiftieth wide, so a gain is drawn within half of that."""
    (panel,) = drawn.panels(stills.gains)
    (points,) = drawn.lines(panel)[stills.INKS[degree].name]
    pairs = published.by_degree(degree)
    for place, title in enumerate((panel.get_xlabel(), panel.get_ylabel())):
        found = [getattr(each, title.partition(":")[0]) for each in pairs]
        for at in (point[place] for point in points):
            assert min(abs(gain - at) for gain in found) <= 0.01 + 1e-9
        for gain in found:
            assert min(abs(gain - point[place]) for point in points) <= 0.01 + 1e-9


@pytest.mark.parametrize("n_rows", [1, 4096])
@pytest.mark.parametrize("n_ranks", [2, 4, 8])
def test_a_way_of_reducing_has_the_band_of_its_own_runs(
    n_ranks: int, n_rows: int
) -> None:
    """Beside its number in the figure, called as the chart calls its line."""
    fits = {
        "One-shot": calibration.one_shot(),
        "In-switch": calibration.in_switch(),
        "NCCL all-reduce": calibration.nccl(),
    }
    figure = figures.all_reduce()
    nbytes = n_rows * figure.values(n_rows=1)["hidden_bytes"]
    known = {"n_ranks": float(n_ranks), "n_rows": float(n_rows)}
    for readout in figure.readouts:
        fit = fits.pop(readout.label)
        assert isinstance(readout, Readout) and isinstance(readout.band, BandTable)
        assert readout.band.at(figure.controls, known) == fit.band(n_ranks, nbytes)
    assert not fits
