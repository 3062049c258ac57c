"""What exists: accelerators, links, models and precisions, each number with its source.

``catalog.accelerator("h100-sxm").hbm_bw`` is a :class:`Cited`; ``float()`` makes it a
number. Nothing outside this package types such a number again.

>>> from llmserve_lab import catalog
>>> catalog.accelerator("h100-sxm").hbm_bw.shown()
'3.35 TB/s'
>>> config = {"model_type": "llama", "hidden_size": 2048, "vocab_size": 32000,
...           "intermediate_size": 8192, "num_hidden_layers": 16,
...           "num_attention_heads": 32, "num_key_value_heads": 8}
>>> catalog.model_from_config(config, name="mine").kv_bytes_per_token(2)
32768.0
"""

from __future__ import annotations

from llmserve_lab.catalog.arguments import machine, wire, workload
from llmserve_lab.catalog.data.accelerators import ACCELERATORS
from llmserve_lab.catalog.data.efficiencies import EFFICIENCIES, Efficiency
from llmserve_lab.catalog.data.links import LINKS
from llmserve_lab.catalog.data.models import MODELS
from llmserve_lab.catalog.data.precisions import PRECISIONS, Precision
from llmserve_lab.catalog.evidence.articles import (
    ARTICLE_FLOPS,
    ARTICLE_PARAMS,
    SCALING_HBM_BW,
)
from llmserve_lab.catalog.fact_tables import (
    exchange_table,
    kernel_table,
    lone_request_table,
    operation_table,
    server_table,
)
from llmserve_lab.catalog.hf_config import families, model_from_config
from llmserve_lab.catalog.lookup import (
    accelerator,
    efficiency,
    link,
    model,
    precision,
)
from llmserve_lab.catalog.measured_tables import (
    decode_run_table,
    deployment_table,
    product_table,
    tier_table,
)
from llmserve_lab.catalog.records.accelerator import (
    Accelerator,
    MemoryLevel,
    Undisclosed,
    UndisclosedError,
)
from llmserve_lab.catalog.records.cited import Cited, Given
from llmserve_lab.catalog.records.link import Link
from llmserve_lab.catalog.records.shape import ModelShape
from llmserve_lab.catalog.tables import (
    accelerator_table,
    capacity_table,
    efficiency_table,
    link_table,
    memory_table,
    model_table,
    size_table,
)

__all__ = [
    "ACCELERATORS",
    "ARTICLE_FLOPS",
    "ARTICLE_PARAMS",
    "EFFICIENCIES",
    "LINKS",
    "MODELS",
    "PRECISIONS",
    "SCALING_HBM_BW",
    "Accelerator",
    "Cited",
    "Efficiency",
    "Given",
    "Link",
    "MemoryLevel",
    "ModelShape",
    "Precision",
    "Undisclosed",
    "UndisclosedError",
    "accelerator",
    "accelerator_table",
    "capacity_table",
    "decode_run_table",
    "deployment_table",
    "efficiency",
    "efficiency_table",
    "exchange_table",
    "families",
    "kernel_table",
    "link",
    "link_table",
    "lone_request_table",
    "machine",
    "memory_table",
    "model",
    "model_from_config",
    "model_table",
    "operation_table",
    "precision",
    "product_table",
    "server_table",
    "size_table",
    "tier_table",
    "wire",
    "workload",
]
