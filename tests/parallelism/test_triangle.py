"""The drawn triangle: rows, inks and counts, asked of the mask token by token."""

from __future__ import annotations

from llmserve_lab.parallelism.page import triangle
from tests.page import drawn


def test_each_row_of_the_triangle_is_a_query_with_the_keys_that_it_sees() -> None:
    for axes in drawn.panels(triangle.triangle):
        wide = [round(bar.get_width()) for bar in axes.patches]
        assert wide == [*range(1, triangle.TOKENS + 1)]


def test_counts_beside_the_triangle_are_those_of_the_rows_in_the_same_ink() -> None:
    for axes, even in zip(drawn.panels(triangle.triangle), (False, True), strict=True):
        drawn_pairs: dict[tuple[float, ...], int] = {}
        for bar in axes.patches:
            ink = tuple(bar.get_facecolor())
            drawn_pairs[ink] = drawn_pairs.get(ink, 0) + round(bar.get_width())
        said = [int(text.get_text().split(": ")[1]) for text in axes.texts]
        assert sorted(said) == sorted(drawn_pairs.values())
        assert sum(said) == triangle.TOKENS * (triangle.TOKENS + 1) // 2
        assert (len(set(said)) == 1) is even
        assert even or max(said) == said[-1]
