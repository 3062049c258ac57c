"""What cannot be asked or served is refused by name, and before anything is run."""

from typing import Any

import pytest

from llmserve_lab.engine import Request, simulate
from tests.engine.test_report import COST, POOL, stream


def test_what_cannot_be_served_is_refused() -> None:
    first = next(stream(1))
    late = Request(arrival_s=1, prompt_len=1, output_len=1, id=1)
    with pytest.raises(ValueError, match="in order of arrival_s, got 0"):
        simulate([late, first], POOL)
    long = Request(arrival_s=0, prompt_len=6_000, output_len=500, id=7)
    with pytest.raises(ValueError, match="request 7 must fit into the 400 blocks"):
        simulate([long], POOL)
    with pytest.raises(ValueError, match="clients must be at least 1 client, got 0"):
        simulate([first], POOL, clients=0)
    with pytest.raises(ValueError, match="think_s must be 0 where nobody waits"):
        simulate([first], POOL, think_s=1)
    with pytest.raises(TypeError, match="deployment must be a Pool or a Disagg"):
        simulate([first], COST)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"q must be in \[0, 100\], got 101"):
        simulate([first], POOL).percentile("ttft", 101)
    with pytest.raises(ValueError, match="metric must be one of"):
        simulate([first], POOL).percentile("tpt", 50)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [{"arrival_s": -1.0}, {"prompt_len": 0}, {"output_len": 2.5}, {"id": "a"},
     {"id": 2**53}],
)  # fmt: skip
def test_a_request_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    fields = {"arrival_s": 0.0, "prompt_len": 1, "output_len": 1, "id": 0}
    with pytest.raises(ValueError, match=f"{str(*wrong)} must be"):
        Request(**{**fields, **wrong})


@pytest.mark.parametrize("clients", [None, 2])
@pytest.mark.parametrize("wrong", [None, (0.0, 5, 5)])
def test_what_is_no_request_is_refused(clients: int | None, wrong: Any) -> None:
    with pytest.raises(TypeError, match="requests must be of type Request, got "):
        simulate([wrong], POOL, clients=clients)
