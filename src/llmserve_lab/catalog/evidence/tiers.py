"""Where a cache can wait between two requests: each GPU's share of a DGX H100.

Bandwidths are those at which one GPU can fetch; what the tier itself could deliver to
all GPUs together may be more.
"""

from __future__ import annotations

from llmserve_lab.catalog.data.links import PCI_SIG, PCIE4, PCIE5
from llmserve_lab.catalog.data.nvidia_ampere_to_hopper import H100
from llmserve_lab.catalog.records.accelerator import MemoryLevel
from llmserve_lab.catalog.records.cited import Cited

DGX_H100 = "NVIDIA DGX H100 datasheet, 2023"
DRIVE_LANES = 4

HOST_DRAM = MemoryLevel(
    "DRAM",
    Cited(250e9, "byte", "datasheet", DGX_H100, "2 TB for 8 GPUs"),
    Cited(float(PCIE5.bandwidth), "byte/s", "datasheet", PCI_SIG, "over PCIe Gen5 x16"),
)
NVME_SSD = MemoryLevel(
    "SSD",
    Cited(3.84e12, "byte", "datasheet", DGX_H100, "8 drives for 8 GPUs"),
    Cited(
        float(PCIE4.bandwidth) * DRIVE_LANES / PCIE4.wires.lanes_per_link,
        "byte/s",
        "datasheet",
        PCI_SIG,
        "four lanes of PCIe Gen4; drives read a little slower",
    ),
)
TIERS = (
    MemoryLevel("HBM", H100.hbm_bytes, H100.hbm_bw),
    HOST_DRAM,
    NVME_SSD,
)
