"""The numbers of the page's prose, with the digits that a reader sees."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "chapters" / "mixture_of_experts.ipynb"
NUMBER = re.compile(r"\[([^\[\]]+)\]\(#num-(\w+)\)")


@cache
def shown() -> dict[str, str]:
    """Every number of the page's prose, as it is printed."""
    cells = json.loads(PAGE.read_text("utf8"))["cells"]
    texts = ("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return {name: said for text in texts for said, name in NUMBER.findall(text)}


def printed(name: str) -> float:
    """A printed number; a percentage as a share."""
    value = float(re.sub(r"[^\d.]", "", shown()[name].replace("PFLOP", "")))
    return value / 100 if shown()[name].endswith("%") else value


def gives(found: float, name: str) -> None:
    """What is found rounds to the printed number, and the digits tried are its own."""
    digits = shown()[name].split(" ")[0].rstrip("%").partition(".")[2]
    scale = 100 if shown()[name].endswith("%") else 1
    assert f"{scale * found:.{len(digits)}f}".rstrip("%") == re.sub(
        r"[^\d.]", "", shown()[name]
    )


def kernels_ms() -> float:
    """A kernel's fixed time, for those of each layer, from the digits printed."""
    each = printed("one_kernel") * printed("layer_kernels")
    found = each * printed("all_layers") / 1e3
    gives(found, "kernels")
    gives(1e3 * found / printed("layers"), "one_layer")
    return found
