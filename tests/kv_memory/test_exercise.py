"""The check of the reader's lookup, and the bench."""

from __future__ import annotations

import re

import pytest

from llmserve_lab.kv_memory.exercise import by_chain, by_tokens, check
from llmserve_lab.kv_memory.page.playground import bench, memory, show
from llmserve_lab.page.still import StaticFigure
from llmserve_lab.paged_cache import ROOT, block_hash
from tests.page import drawn


def test_the_check_tells_the_naive_lookup_from_the_solution() -> None:
    assert check(by_tokens).startswith("not yet: for a prompt that begins alike")
    assert check(by_chain).startswith("well done")


def test_a_lookup_without_salt_or_rest_is_not_enough() -> None:
    assert "another tenant" in check(lambda t, s, i, _: by_chain(t, s, i, ""))
    assert "same prompt again" in check(lambda t, s, i, x: by_chain([*t, 0], s, i, x))


def test_a_lookup_that_walks_on_is_not_enough() -> None:
    def walks_on(tokens, size, index, salt):  # type: ignore[no-untyped-def]
        found, parent = [], ROOT
        for start in range(0, len(tokens) - size, size):
            parent = block_hash(parent, tokens[start : start + size], salt)
            salt = ""
            found.append(index.get(parent, 0))
        return found

    assert check(walks_on).startswith("not yet")


def test_what_is_no_list_is_refused() -> None:
    with pytest.raises(ValueError, match="lookup must return a list of blocks, got 3"):
        check(lambda *_: 3)  # type: ignore[arg-type]


def requests(gpus: str) -> str:
    return show(model="Llama-3.1-70B", gpu="H100 SXM", gpus=gpus, context=8192)


@pytest.mark.long
def test_the_goal_of_the_bench_is_reached_by_four_gpus_and_not_by_two() -> None:
    assert "leave no room" in requests("1")
    assert "requests that fit, nothing shared" in requests("2")
    found = {gpus: _count(requests(gpus)) for gpus in ("2", "4", "8")}
    assert found["2"] < 48 <= min(found["4"], found["8"])
    assert bench().answer(model="Llama-3.1-70B", gpu="H100 SXM", gpus="4", context=8192)


def _count(html: str) -> int:
    cell = html.split("nothing shared")[1].split("</td>")[0].split(">")[-1]
    return int(cell.replace(",", ""))


def test_a_request_beyond_the_model_is_refused() -> None:
    with pytest.raises(ValueError, match="at most 131,072 tokens"):
        show(model="Llama-3.1-70B", gpu="H100 SXM", gpus="4", context=200_000)


def test_each_part_of_the_bench_s_memory_is_what_it_is_called() -> None:
    """Llama-3.1-70B on four GPUs: two bytes a parameter, 320 KiB a token."""
    made: list[StaticFigure] = []

    def make() -> StaticFigure:
        made.append(memory("Llama-3.1-70B", "H100 SXM", 4, 8192))
        return made[-1]

    (panel,) = drawn.panels(make)
    sizes = {str(bars.get_label()): bars[0].get_width() for bars in panel.containers}
    weights, whole = 2 * 70.55, 4 * 81_091 * 2**20 / 1e9
    assert sizes["weights"] == pytest.approx(weights, rel=1e-3)
    assert sum(sizes.values()) == pytest.approx(whole, rel=1e-3)
    left = 0.9 * whole - weights  # and the working space of four GPUs
    assert 4 < left - sizes["cache"] < 8
    for name, size in sizes.items():
        assert f"{name} {size:.0f} GB" in made[0].sentence
    each = 320 * 1024 * 8192 / 1e9
    fits = int(sizes["cache"] // each)
    assert f"{fits:,} requests of 8,192 tokens fit" in made[0].title
    html = show(model="Llama-3.1-70B", gpu="H100 SXM", gpus="4", context=8192)
    cells = re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", html)
    found = dict(zip(cells[2::2], cells[3::2], strict=True))
    assert found == {
        "memory for the cache": f"{sizes['cache']:.1f} GB",
        "cache of a request of 8,192 tokens": f"{each:.3f} GB",
        "requests that fit, nothing shared": f"{fits:,}",
    }
