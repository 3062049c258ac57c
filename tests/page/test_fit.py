"""A picture takes the width of its column: when that shrinks, and when it grows."""

import re
from pathlib import Path

import pytest
import quickjs

LIVE = Path(__file__).resolve().parents[2] / "assets/live.js"
FITTED = """
  const figure = {
    %s,
    picture: {clientWidth: %r},
    view: {w: %r, runs: 0, width(x) {
      if (x === undefined) return this.w;
      this.w = x;
      return {run: () => { this.runs += 1; }};
    }},
  };
  figure.fit();
  figure.view.w + "," + figure.view.runs
"""


def method(name: str) -> str:
    """The source of a method of a live figure."""
    found = re.search(
        rf"^    {name}\(\) \{{.*?^    \}}", LIVE.read_text("utf8"), re.M | re.S
    )
    assert found
    return found.group()


@pytest.mark.parametrize(
    ("column", "drawn", "then"),
    [
        (390.7, 640, "390,1"),
        (960.2, 640, "960,1"),
        (641.0, 640, "641,1"),
        (640.9, 640, "640,0"),  # drawn already
        (0, 640, "640,0"),  # not shown
    ],
)
def test_a_picture_becomes_as_wide_as_its_column(
    column: float, drawn: int, then: str
) -> None:
    methods = ", ".join(method(name) for name in ("fit", "width"))
    assert quickjs.Context().eval(FITTED % (methods, column, drawn)) == then
