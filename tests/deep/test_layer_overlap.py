"""Overlap never takes fewer requests, in the groups of every size."""

import pytest

from llmserve_lab.moe import serving
from tests.moe.test_deadline import check_overlap_never_takes_fewer


@pytest.mark.parametrize("ep", serving.GROUPS[1:])
def test_overlap_never_takes_fewer_requests(ep: float) -> None:
    check_overlap_never_takes_fewer(ep)
