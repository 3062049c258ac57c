"""A number enters a device, a link or a model in its unit, or not at all."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from llmserve_lab import catalog
from llmserve_lab.catalog import ACCELERATORS, LINKS, MODELS, PRECISIONS, Cited, machine
from llmserve_lab.catalog.records.accelerator import MemoryLevel
from llmserve_lab.catalog.records.source_links import Document, address
from llmserve_lab.engine import IterationCost
from llmserve_lab.roofline import formulas as f
from tests.catalog.test_cited import everything

H100, NVLINK = ACCELERATORS["h100-sxm"], LINKS["nvlink4"]
LLAMA = MODELS["llama-3-8b"]
sheet = partial(Cited, kind="datasheet", source="a datasheet")
device, link = partial(replace, H100), partial(replace, NVLINK)
model = partial(replace, LLAMA)


@pytest.mark.parametrize(
    ("given", "bytes_per_s"),
    [
        (sheet(2, "TB/s"), 2e12),
        (sheet(2000, "GB/s"), 2e12),
        (sheet(16e12, "bit/s"), 2e12),
        (sheet(1, "GiB/s"), 2**30),
        (sheet(7.2e15, "byte/hour"), 2e12),
    ],
)
def test_a_bandwidth_in_another_unit_is_brought_into_bytes_per_second(
    given: Cited, bytes_per_s: float
) -> None:
    made = device(hbm_bw=given)
    assert float(made.hbm_bw) == pytest.approx(bytes_per_s)
    assert made.hbm_bw.unit == "byte/s"
    assert (made.hbm_bw.source, made.hbm_bw.kind) == (given.source, given.kind)
    weights_s = f.WEIGHTS_S.at(machine(made), weight_bytes=2e12)
    assert weights_s == pytest.approx(2e12 / bytes_per_s)


def test_every_cited_field_of_a_record_is_brought_into_its_unit() -> None:
    peaks = {"bf16": sheet(1, "PFLOP/s")}
    made = device(hbm_bytes=sheet(96, "GB"), peak_flops=peaks)
    assert (float(made.hbm_bytes), float(made.peak("bf16"))) == (96e9, 1e15)
    fast = link(bandwidth=sheet(0.5, "TB/s"), latency=sheet(2, "us"))
    assert fast.latency is not None and float(fast.latency) == pytest.approx(2e-6)
    assert float(fast.bandwidth) == 5e11
    level = MemoryLevel("L3", sheet(1, "GiB"), sheet(1, "TB/s"))
    assert (float(level.bytes), float(level.bandwidth)) == (2**30, 1e12)
    told = model(published={"kv_bytes_per_token": sheet(131, "kB/token")})
    assert float(told.published["kv_bytes_per_token"]) == 131e3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (partial(device, hbm_bw=sheet(2e12, "FLOP/s")), "hbm_bw must be in byte/s"),
        (partial(device, hbm_bw=sheet(2e12, "byte")), "hbm_bw must be in byte/s"),
        (partial(device, hbm_bytes=sheet(1, "token")), "hbm_bytes must be in byte"),
        (
            partial(device, peak_flops={"fp8": sheet(1e15, "byte/s")}),
            r"peak_flops\['fp8'\] must be in FLOP/s",
        ),
        (partial(link, latency=sheet(1, "byte")), "latency must be in s"),
        (partial(link, bandwidth=sheet(1, "parsec")), "bandwidth has a unit the book"),
        (
            partial(replace, PRECISIONS["fp8"], bits=sheet(1, "s")),
            "bits must be in bit",
        ),
        (
            partial(model, published={"params_total": sheet(1, "byte")}),
            r"published\['params_total'\] must be in parameter",
        ),
        (partial(model, published={"age": sheet(1, "s")}), "published must be by"),
    ],
)
def test_a_number_of_another_kind_is_refused_by_name(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("value", [2e12, "3.35 TB/s"])
def test_a_number_without_a_source_is_refused_by_name(value: Any) -> None:
    with pytest.raises(TypeError, match="hbm_bw must be a Cited"):
        device(hbm_bw=value)


@pytest.mark.parametrize("count", [0, -3])
def test_a_count_below_one_is_refused(count: int) -> None:
    for record in (H100, NVLINK):
        with pytest.raises(ValueError, match="num_devices must be at least 1"):
            replace(record, num_devices=count)


def test_a_device_scales_up_over_a_link_of_the_catalog() -> None:
    with pytest.raises(ValueError, match=r"scale_up must be one of .*, got 'nope'"):
        device(scale_up="nope")


def test_a_tensor_parallel_group_does_not_leave_its_nvlink_domain() -> None:
    big = MODELS["llama-3.1-405b"]
    with pytest.raises(ValueError, match="tp must be at most 8, the devices that"):
        IterationCost.of(big, H100, tp=16, link=NVLINK)
    over_infiniband = LINKS["infiniband-ndr"]
    assert IterationCost.of(big, H100, tp=16, link=over_infiniband).collective_s > 0


def test_every_source_on_the_web_has_an_address_that_is_one() -> None:
    sources = {cited.source for cited in everything()}
    known = {source: url for source in sources if (url := address(source))}
    assert len(known) > 0.75 * len(sources)
    assert all(url.startswith("https://") for url in known.values())
    assert catalog.accelerator("h100-sxm").hbm_bw.url.endswith("/h100/")
    assert address("arXiv 2601.21351 v1, tables 2 and 4").endswith("abs/2601.21351")
    assert address("config.json of Qwen/Qwen3-32B").endswith(".co/Qwen/Qwen3-32B")
    assert address("a rumour") == ""


def test_a_document_is_its_name_with_an_address() -> None:
    paper = Document("a datasheet, 2027", "https://example.org/sheet")
    assert paper == "a datasheet, 2027"
    for each in (paper, copy.deepcopy(paper), pickle.loads(pickle.dumps(paper))):
        assert address(each) == "https://example.org/sheet"
    told = Cited(2, "TB/s", "datasheet", paper).in_unit("byte/s", what="hbm_bw")
    assert told.url == "https://example.org/sheet"
    with pytest.raises(ValueError, match="url must begin with https://, got 'sheet'"):
        Document("a datasheet", "sheet")


def test_a_device_without_a_family_is_its_own() -> None:
    assert device(name="my GPU", family=()).family == ("my GPU",)


@pytest.mark.parametrize("family", ["H100", ("H100", "")])
def test_a_family_without_names_is_refused(family: Any) -> None:
    with pytest.raises(ValueError, match="family must be a tuple of names, got"):
        device(family=family)
