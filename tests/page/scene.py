"""What Vega lays out for a chart, once for each setting of it in a process."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any


def scene_of(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The scene of a chart: size, and all that is drawn."""
    return _laid_out(json.dumps(spec))


@cache
def _laid_out(spec: str) -> dict[str, Any]:
    from llmserve_lab.extras import vl_convert

    return dict(vl_convert.vegalite_to_scenegraph(spec))
