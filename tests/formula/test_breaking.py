"""Long mathematics on several lines says the same as on one."""

import re

import pytest

from llmserve_lab.formula.breaking import DIGITS, broken, lines, pieces, width
from llmserve_lab.formula.registry import formulas
from llmserve_lab.roofline import formulas as roofline

MARKS = re.compile(r"\\begin\{\w+\}|\\end\{\w+\}|\\\\|\\quad|\{\}|&|\s")

LEFT, RIGHT = re.compile(r"\\left(?![a-z])"), re.compile(r"\\right(?![a-z])")


def joined(latex: str) -> str:
    """The same signs, whatever lines they stand on."""
    return MARKS.sub("", latex)


@pytest.mark.parametrize(
    ("latex", "want"),
    [
        ("a", 1.0),
        (r"\ell", 1.2),
        ("a + b", 4.2),
        (r"\frac{abc}{d}", 3.5),
        ("a_{xyz}", 1 + 0.72 * 3),
        (r"32\,\mathrm{layers}", 2 + 0.35 + 6),
    ],
)
def test_width_is_counted_in_digits(latex: str, want: float) -> None:
    assert width(latex) == pytest.approx(want)


def test_pieces_begin_with_their_operator_and_keep_brackets_whole() -> None:
    latex = r"a \cdot \frac{b + c}{d} + \min\left(e, f + g\right) - h_{i + j}"
    assert pieces(latex) == [
        "a",
        r" \cdot \frac{b + c}{d}",
        r" + \min\left(e, f + g\right)",
        " - h_{i + j}",
    ]
    assert "".join(pieces(latex)) == latex


@pytest.mark.parametrize("limit", [10, 20, 40, 58])
def test_no_sign_is_lost_and_none_added(limit: int) -> None:
    for formula in formulas():
        right = formula.latex.partition(" = ")[2]
        found = lines(right, limit)
        assert joined(" ".join(found)) == joined(right)
        assert all(line.count("{") == line.count("}") for line in found)
        for line in found:
            assert len(LEFT.findall(line)) == len(RIGHT.findall(line))


def test_what_fits_stays_on_one_line() -> None:
    latex = roofline.INTENSITY.latex
    assert width(latex) < DIGITS and broken(latex) == latex


def test_a_long_sum_and_a_long_fraction_are_broken() -> None:
    long = " + ".join(f"x_{{{i}}}" for i in range(40))
    found = lines(long)
    assert len(found) > 1 and max(map(width, found)) <= DIGITS
    assert all(line.startswith("+") for line in found[1:])
    fraction = rf"\frac{{{long}}}{{y}}"
    (stacked,) = lines(fraction)
    assert stacked.startswith(r"\frac{\begin{gathered}")
    assert broken(f"z = {long}").startswith("\\begin{aligned}\nz &= ")


def test_braces_that_stay_open_are_refused() -> None:
    with pytest.raises(ValueError, match=r"braces must be closed in LaTeX, got '\{a'"):
        width(r"\frac{a")
