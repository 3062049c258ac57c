"""Two records are compared as two machines may differ: in the last digits of a fit."""

import copy
from typing import Any

from llmserve_lab.validation.__main__ import apart
from llmserve_lab.validation.constants import record


def changed(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """The stored record with one entry changed."""
    made: Any = copy.deepcopy(dict(record()))
    place = made
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    return dict(made)


def test_the_fifth_digit_may_differ_and_the_third_may_not() -> None:
    layer_s = record()["constants"]["all"]["layer_s"]
    at = ("constants", "all", "layer_s")
    assert not [*apart(changed(at, layer_s * (1 + 2e-5)), dict(record()))]
    assert [*apart(changed(at, layer_s * 1.01), dict(record()))] == [
        "/constants/all/layer_s"
    ]


def test_what_is_gone_or_longer_or_said_otherwise_is_found() -> None:
    stored = dict(record())
    assert [*apart(changed(("status",), "blind"), stored)] == ["/status"]
    less = [*record()["errors"]["tpot"]][:-1]
    assert [*apart(changed(("errors", "tpot"), less), stored)] == ["/errors/tpot"]
    without = {k: v for k, v in stored.items() if k != "ladder"}
    assert [*apart(without, stored)] == ["/ladder"]
