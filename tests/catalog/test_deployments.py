"""Published rates against the ratios that the same sources print beside them."""

from __future__ import annotations

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog.evidence import deployments as d
from llmserve_lab.catalog.records.ffn import MoeFfn


def ratio(one: d.Deployment, other: d.Deployment) -> float:
    return float(one.gpu_tokens_per_s) / float(other.gpu_tokens_per_s)


def test_every_deployment_is_of_the_catalog_and_has_its_own_name() -> None:
    names = [record.name for record in d.DEPLOYMENTS]
    assert len(set(names)) == len(names)
    for record in d.DEPLOYMENTS:
        assert isinstance(catalog.model(record.model).ffn, MoeFfn)
        nodes = record.n_gpus / catalog.accelerator(record.accelerator).num_devices
        assert nodes <= 1 or nodes == int(nodes)


@pytest.mark.parametrize(
    ("one", "other", "printed"),
    [
        (d.NVL72_DECODE, d.SGLANG_DECODE, "2.7"),
        (d.NVL72_LOW, d.SGLANG_DECODE, "4.8"),
        (d.PROFILED_PREFILL, d.DEEPSEEK_PREFILL, "1.9"),
        (d.PREFILL_RATES[-1], d.PROFILED_PREFILL, "0.8"),
        (d.EVEN_PREFILL, d.PROFILED_PREFILL, "0.9"),
        (d.SGLANG_DRAFTED, d.PROFILED_DECODE, "0.9"),
    ],
)
def test_the_ratios_are_those_that_were_printed(
    one: d.Deployment, other: d.Deployment, printed: str
) -> None:
    assert f"{ratio(one, other):.1f}" == printed


def test_a_profile_is_missed_by_as_many_percent_as_was_printed() -> None:
    """Printed are 5.6, which is of the other rate and cut, and 6.6."""
    even = 1 - ratio(d.EVEN_PREFILL, d.PROFILED_PREFILL)
    drafted = 1 - ratio(d.SGLANG_DRAFTED, d.PROFILED_DECODE)
    assert 0.056 < even / (1 - even) < 0.057
    assert f"{drafted:.1%}" == "6.6%"


def test_kimi_makes_on_sixteen_nodes_what_was_printed_for_them() -> None:
    thousands = [
        128 * float(record.gpu_tokens_per_s) / 1000
        for record in (d.KIMI_PREFILL, d.KIMI_DECODE)
    ]
    assert thousands == [896, 384]
    assert d.KIMI_PREFILL.n_gpus + d.KIMI_DECODE.n_gpus == 128


def test_what_hits_the_cache_is_the_printed_share() -> None:
    assert f"{d.HIT_SHARE:.1%}" == "56.3%"
    cached, prompt = d.DEEPSEEK_PREFILL.cached, d.DEEPSEEK_PREFILL.context
    assert cached is not None
    assert float(cached) == d.HIT_SHARE * float(prompt)


def test_gains_of_overlap_are_those_that_were_printed() -> None:
    printed = [f"{float(gain) - 1:+.1%}" for gain in d.OVERLAP_GAINS.values()]
    assert printed == ["+25.5%", "-27.0%"]
    low, high = map(float, d.PREFILL_OVERLAP_GAINS)
    assert low < high < float(d.DRAFTED_OVERLAP_GAIN) < high + 0.01
