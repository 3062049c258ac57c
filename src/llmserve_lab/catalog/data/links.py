"""The links of the book, by key: NVLink, its switches, InfiniBand, PCI Express."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from llmserve_lab.catalog.records.cited import Cited
from llmserve_lab.catalog.records.link import Link, Wires
from llmserve_lab.catalog.records.source_links import Document

INSTINCT = "https://www.amd.com/en/products/accelerators/instinct"
A100_PAPER = Document(
    "NVIDIA A100 Tensor Core GPU Architecture, whitepaper, 2020",
    "https://images.nvidia.com/aem-dam/en-zz/Solutions/data-center/"
    "nvidia-ampere-architecture-whitepaper.pdf",
)
H100_PAPER = Document(
    "NVIDIA H100 Tensor Core GPU Architecture, whitepaper V1.04, 2023",
    "https://resources.nvidia.com/en-us-tensor-core/gtc22-whitepaper-hopper",
)
NVLINK_PAGE = "NVIDIA NVLink and NVLink Switch, product page, nvidia.com, 2025"
H800_PAPER = "DeepSeek, Insights into DeepSeek-V3, arXiv 2505.09343, section 4"
INFINIBAND = "InfiniBand Trade Association, roadmap"
ETHERNET = "IEEE 802.3, Ethernet at 400 Gb/s"
NEURON = Document(
    "AWS Neuron documentation, Trainium2 architecture",
    "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/"
    "neuron-hardware/trainium2.html",
)
TPU = Document(
    "Google Cloud, TPU v6e documentation", "https://docs.cloud.google.com/tpu/docs/v6e"
)
MI355X_SHEET = Document(
    "AMD Instinct MI355X data sheet, 2025", f"{INSTINCT}/mi350/mi355x.html"
)
PCI_SIG = "PCI-SIG, PCI Express Base Specification 4.0 and 5.0"
CDNA3_PAPER = Document(
    "AMD CDNA 3 Architecture, whitepaper, 2023",
    "https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/"
    "white-papers/amd-cdna-3-white-paper.pdf",
)
LATENCY_TABLE = "DeepSeek, Insights into DeepSeek-V3, arXiv 2505.09343, latency table"

_ENCODED = "one way, after 128b/130b encoding"
_ONE_WAY = "one way, per device: half the headline"
_nvlink3 = partial(Cited, kind="datasheet", source=A100_PAPER)
_nvlink4 = partial(Cited, kind="datasheet", source=H100_PAPER)
_nvlink5 = partial(Cited, kind="datasheet", source=NVLINK_PAGE)
_h800 = partial(Cited, kind="paper", source=H800_PAPER)
_amd = partial(Cited, kind="datasheet", source=CDNA3_PAPER)
_ib = partial(Cited, kind="datasheet", source=INFINIBAND)
_pcie = partial(Cited, kind="datasheet", source=PCI_SIG)
_fabric4 = partial(Cited, kind="datasheet", source=MI355X_SHEET)
_ethernet = partial(Cited, kind="datasheet", source=ETHERNET)
_neuron = partial(Cited, kind="datasheet", source=NEURON)
_ici = partial(Cited, kind="datasheet", source=TPU)
_latency = partial(Cited, unit="s", kind="measured", source=LATENCY_TABLE)

NVLINK_LATENCY = _latency(3.33e-6, note="64 bytes, H800, end to end")
IB_LATENCY = _latency(2.8e-6, note="64 bytes, same leaf switch; 3.7 µs across leaves")
NVLINK4_WIRES = Wires(
    num_links=18, lanes_per_link=2, lane_rate=_nvlink4(100e9, "bit/s")
)
NVLINK5_WIRES = Wires(
    num_links=18, lanes_per_link=2, lane_rate=_nvlink5(200e9, "bit/s")
)

NVLINK3 = Link(
    name="NVLink 3 (A100)",
    key="nvlink3",
    scope="scale-up",
    bandwidth=_nvlink3(300e9, "byte/s", note=_ONE_WAY),
    bidirectional=_nvlink3(600e9, "byte/s"),
    wires=Wires(num_links=12, lanes_per_link=4, lane_rate=_nvlink3(50e9, "bit/s")),
)
NVLINK4 = Link(
    name="NVLink 4 (H100, H200)",
    key="nvlink4",
    scope="scale-up",
    bandwidth=_nvlink4(450e9, "byte/s", note=_ONE_WAY),
    bidirectional=_nvlink4(900e9, "byte/s"),
    wires=NVLINK4_WIRES,
    latency=NVLINK_LATENCY,
)
NVLINK4_H800 = Link(
    name="NVLink 4 (H800)",
    key="nvlink4-h800",
    scope="scale-up",
    bandwidth=_h800(200e9, "byte/s", note="one way; about 160 GB/s are reached"),
    bidirectional=_h800(400e9, "byte/s"),
    wires=Wires(num_links=8, lanes_per_link=2, lane_rate=_nvlink4(100e9, "bit/s")),
    latency=NVLINK_LATENCY,
)
NVLINK5 = Link(
    name="NVLink 5 (B200, GB200)",
    key="nvlink5",
    scope="scale-up",
    bandwidth=_nvlink5(900e9, "byte/s", note=_ONE_WAY),
    bidirectional=_nvlink5(1.8e12, "byte/s"),
    wires=NVLINK5_WIRES,
)
NVSWITCH_HGX = Link(
    name="NVSwitch fabric, HGX H100",
    key="nvswitch-hgx-h100",
    scope="scale-up",
    bandwidth=NVLINK4.bandwidth,
    bidirectional=NVLINK4.bidirectional,
    wires=NVLINK4_WIRES,
    latency=NVLINK_LATENCY,
    num_devices=8,
    total=_nvlink4(7.2e12, "byte/s", note="both ways, all devices"),
)
NVSWITCH_NVL72 = Link(
    name="NVLink Switch fabric, NVL72",
    key="nvswitch-nvl72",
    scope="scale-up",
    bandwidth=NVLINK5.bandwidth,
    bidirectional=NVLINK5.bidirectional,
    wires=NVLINK5_WIRES,
    num_devices=72,
    total=_nvlink5(130e12, "byte/s", note="both ways, all devices"),
)
INFINITY_FABRIC = Link(
    name="Infinity Fabric (MI300X)",
    key="infinity-fabric-mi300x",
    scope="scale-up",
    bandwidth=_amd(448e9, "byte/s", note="7 point-to-point links of 64 GB/s one way"),
    bidirectional=_amd(896e9, "byte/s"),
    wires=Wires(num_links=7, lanes_per_link=16, lane_rate=_amd(32e9, "bit/s")),
    num_devices=8,
)
INFINITY_FABRIC_4 = Link(
    name="Infinity Fabric (MI355X)",
    key="infinity-fabric-mi355x",
    scope="scale-up",
    bandwidth=_fabric4(537.6e9, "byte/s", note="7 links of 76.8 GB/s one way"),
    bidirectional=_fabric4(1075.2e9, "byte/s"),
    wires=Wires(num_links=7, lanes_per_link=16, lane_rate=_fabric4(38.4e9, "bit/s")),
    num_devices=8,
)
NEURONLINK = Link(
    name="NeuronLink-v3 (Trainium2)",
    key="neuronlink-v3",
    scope="scale-up",
    bandwidth=_neuron(640e9, "byte/s", note="half of what is printed for a chip"),
    bidirectional=_neuron(1.28e12, "byte/s"),
    wires=Wires(num_links=4, lanes_per_link=1, lane_rate=_neuron(1.28e12, "bit/s")),
    num_devices=16,
)
ICI_V6E = Link(
    name="ICI (TPU v6e)",
    key="ici-v6e",
    scope="scale-up",
    bandwidth=_ici(400e9, "byte/s", note=_ONE_WAY),
    bidirectional=_ici(800e9, "byte/s"),
    wires=Wires(num_links=4, lanes_per_link=1, lane_rate=_ici(800e9, "bit/s")),
    num_devices=256,
)
ROCE_400 = Link(
    name="RoCE 400G",
    key="roce-400g",
    scope="scale-out",
    bandwidth=_ethernet(50e9, "byte/s", note="400 Gb/s, one way, one port"),
    bidirectional=_ethernet(100e9, "byte/s"),
    wires=Wires(num_links=1, lanes_per_link=4, lane_rate=_ethernet(100e9, "bit/s")),
    latency=_latency(3.6e-6, note="64 bytes, same leaf switch; 5.6 µs across leaves"),
)
IB_HDR = Link(
    name="InfiniBand HDR",
    key="infiniband-hdr",
    scope="scale-out",
    bandwidth=_ib(25e9, "byte/s", note="200 Gb/s, one way, one port"),
    bidirectional=_ib(50e9, "byte/s"),
    wires=Wires(num_links=1, lanes_per_link=4, lane_rate=_ib(50e9, "bit/s")),
)
IB_NDR = Link(
    name="InfiniBand NDR",
    key="infiniband-ndr",
    scope="scale-out",
    bandwidth=_ib(50e9, "byte/s", note="400 Gb/s, one way, one port"),
    bidirectional=_ib(100e9, "byte/s"),
    wires=Wires(num_links=1, lanes_per_link=4, lane_rate=_ib(100e9, "bit/s")),
    latency=IB_LATENCY,
)


def _pcie_x16(generation: int, gt_per_s: Cited, one_way: Cited, both: Cited) -> Link:
    return Link(
        name=f"PCIe Gen{generation} x16",
        key=f"pcie-gen{generation}",
        scope="host",
        bandwidth=one_way,
        bidirectional=both,
        wires=Wires(
            num_links=1, lanes_per_link=16, lane_rate=gt_per_s, payload=128, line=130
        ),
    )


PCIE4 = _pcie_x16(
    4,
    _pcie(16e9, "bit/s"),
    _pcie(31.5e9, "byte/s", note=_ENCODED),
    _pcie(63e9, "byte/s"),
)
PCIE5 = _pcie_x16(
    5,
    _pcie(32e9, "bit/s"),
    _pcie(63e9, "byte/s", note=_ENCODED),
    _pcie(126e9, "byte/s"),
)

LINKS: Mapping[str, Link] = MappingProxyType(
    {
        each.key: each
        for each in (
            NVLINK3,
            NVLINK4,
            NVLINK4_H800,
            NVLINK5,
            NVSWITCH_HGX,
            NVSWITCH_NVL72,
            INFINITY_FABRIC,
            INFINITY_FABRIC_4,
            NEURONLINK,
            ICI_V6E,
            IB_HDR,
            IB_NDR,
            ROCE_400,
            PCIE4,
            PCIE5,
        )
    }
)
