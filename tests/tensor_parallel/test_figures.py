"""The live figures show what ran."""

from __future__ import annotations

import pytest

from llmserve_lab.catalog import wire
from llmserve_lab.tensor_parallel import article
from llmserve_lab.tensor_parallel import formulas as f
from llmserve_lab.tensor_parallel.arguments import DEFAULT
from llmserve_lab.tensor_parallel.page import block_chart, figures

SUMS = ("output projection", "FFN down")  # what B leaves to be added up


@pytest.mark.parametrize("tp", block_chart.DEGREES)
@pytest.mark.parametrize("which", [0, 1])
def test_the_picture_of_the_block_holds_the_steps_that_ran(which: int, tp: int) -> None:
    place = (which, block_chart.DEGREES.index(tp))
    drawn = [r for r in block_chart.rows() if (r["s"], r["t"]) == place]
    done = article.execute(("gathered", "paired")[which], tp, article.batch())
    assert [r["w"] for r in drawn] == [step.given[1] for step in done.steps[-1]]
    assert [r["n"][0] == "★" for r in drawn] == [
        step.is_collective for step in done.steps[-1]
    ]
    exchanges = [block_chart.STEPS[r["i"]].startswith("exchange") for r in drawn]
    assert exchanges == [step.is_collective for step in done.steps[-1]]


def test_slices_of_all_ranks_make_up_the_row() -> None:
    """A slice is one of so many; whole and partial rows are as wide as uncut ones."""
    uncut = {(r["s"], r["i"]): r["w"] for r in block_chart.rows() if r["t"] == 0}
    for r in block_chart.rows():
        ranks = block_chart.DEGREES[r["t"]] if r["k"] == 1 else 1
        assert r["w"] * ranks == uncut[r["s"], r["i"]]
        assert (r["k"] == 2) == (r["s"] == 1 and block_chart.STEPS[r["i"]] in SUMS)


def test_the_bytes_under_it_are_those_that_left_a_rank() -> None:
    known = figures.block().values(tp="4 ranks")
    for name in ("gathered", "paired"):
        sent = article.execute(name, 4, article.batch()).ledger.sent_bytes(rank=0)
        assert known[f"{name}_bytes"] == sent / 4  # 16 bits there, float64 here


def test_work_and_links_add_up() -> None:
    known = figures.tp_time().values(n_ranks=4.0)
    assert known["tp_s"] == pytest.approx(known["rank_s"] + known["link_s"])
    assert known["link_share"] == pytest.approx(known["link_s"] / known["tp_s"])


def test_a_rank_holds_its_share_or_has_no_room() -> None:
    one, eight = (figures.tp_time().values(n_ranks=g) for g in (1.0, 8.0))
    assert one["rank_bytes"] > one["hbm_bytes"] and one["fits"] == 1
    assert eight["rank_bytes"] == one["rank_bytes"] / 8 and eight["fits"] == 0


def test_sixteen_ranks_lose_to_eight_unless_they_have_much_to_compute() -> None:
    decode = figures.speedup().values()
    for batch in (1, 1024):
        assert decode[f"speedup_16_{batch}"] < decode[f"speedup_8_{batch}"]
    at = DEFAULT | {"batch": 2048.0, "chunk": 1.0, "context": 1024.0}
    eight, sixteen = (f.TP_SPEEDUP.at(at, n_ranks=g) for g in (8.0, 16.0))
    assert sixteen < eight  # and to the right of it there is no room
    assert f.RANK_BYTES.at(at, n_ranks=16.0) > float(at["hbm_bytes"])
    prefill = figures.speedup().values(chunk=2048.0, context=0.0)
    assert prefill["speedup_16_1"] > prefill["speedup_8_1"]


def test_a_link_of_unknown_latency_is_refused() -> None:
    from llmserve_lab.catalog import LINKS

    with pytest.raises(ValueError, match="link must have a latency in the catalog"):
        wire(LINKS["pcie-gen5"])
