"""FP8 on one H100: the gains of the page, from the runs themselves."""

import pytest

from llmserve_lab.catalog.evidence.one_h100 import passes
from llmserve_lab.quantization import measured
from llmserve_lab.quantization.on_one_gpu import gains, gains_table


def test_a_gain_is_the_mean_of_both_runs_over_the_one_in_eight_bits() -> None:
    found = {each.run.decodes: each for each in gains() if not each.run.chunk}
    for batch, gain in found.items():
        wide, narrow = (
            [
                float(run.seconds)
                for run in passes()
                if run.precision == precision
                and (run.decodes, run.context, run.chunk) == (batch, 1100, 0)
            ]
            for precision in ("bf16", "fp8")
        )
        assert len(wide) == 2 and len(narrow) == 1
        assert gain.measured == pytest.approx(sum(wide) / 2 / narrow[0])
    assert sorted(found) == [1, 16, 64, 128, 256]


def test_more_requests_gain_less_measured_and_priced() -> None:
    steps = [each for each in gains() if not each.run.chunk]
    for kind in ("measured", "formula"):
        found = [getattr(each, kind) for each in steps]
        assert found == sorted(found, reverse=True)
        assert all(1 < each < 2 for each in found)


def test_the_formula_is_below_what_a_gpu_by_itself_gains() -> None:
    """The fitted machine has a server's time for layers and requests in it."""
    assert all(each.formula < each.measured for each in gains())
    assert len(gains_table().rows) == 7


def test_the_parts_are_further_off_than_whole_runs() -> None:
    """The page's table, read back: no row of the H100 is as near as the H200's."""
    rows = measured.compared_table().rows
    off: dict[str, list[float]] = {"H200": [], "H100": []}
    for name, seen, said, *int4 in rows:
        times = [float(str(each).rstrip("×")) for each in (seen, said)]
        off[str(name)[:4]].append(times[0] / times[1] - 1)
        assert ("–" in int4) == str(name).startswith("H100")
    assert len(off["H200"]) == 3 and len(off["H100"]) == 2
    assert max(map(abs, off["H200"])) < 0.035 < 0.1 < min(off["H100"])
    assert off["H100"] == pytest.approx([0.13, 0.28], abs=0.01)
