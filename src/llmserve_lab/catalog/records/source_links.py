"""Where a source can be read: the address behind the name that a number cites."""

from __future__ import annotations

import re
from typing import Any

ARXIV = re.compile(r"arXiv (\d{4}\.\d{5})")
CONFIG = re.compile(r"^(?:config\.json|model card) of (\S+/\S+)$")
LMSYS = "https://lmsys.org/blog"
NVIDIA = "https://www.nvidia.com/en-us/data-center"
# The beginning of a source's name, and its address. The longest beginning wins. Papers
# of one device or link are a Document in its maker's file, with the address there.
ADDRESSES = {
    "NVIDIA A100 40GB datasheet": f"{NVIDIA}/a100/",
    "NVIDIA NVLink and NVLink Switch": f"{NVIDIA}/nvlink/",
    "NVIDIA CUDA C++ Programming Guide": "https://docs.nvidia.com/cuda/"
    "cuda-c-programming-guide/",
    "Alibaba, InferSim": "https://github.com/alibaba/InferSim",
    "HiDream-ai, VAREdit": "https://github.com/HiDream-ai/VAREdit/issues/6",
    "vLLM, issue 20780": "https://github.com/vllm-project/vllm/issues/20780",
    "NVIDIA, AIConfigurator": "https://github.com/ai-dynamo/aiconfigurator",
    "RunPod, pricing page, 2026-11-09": "https://github.com/datareceipts/data-receipts",
    "RunPod, pricing page, 2026-10-07": "https://github.com/api-evangelist/runpod",
    "RunPod, prices of 2026-08-19": "https://huggingface.co/datasets/privum/"
    "ai-compute-prices",
    "Microsoft Azure, retail prices": "https://github.com/datareceipts/data-receipts",
    "K. Kunishou, GenerativeAI-Cost": "https://github.com/kunishou/GenerativeAI-Cost",
    "IEEE 802.3": "https://standards.ieee.org/ieee/802.3/10422/",
    "InfiniBand Trade Association": "https://www.infinibandta.org/infiniband-roadmap/",
    "PCI-SIG": "https://pcisig.com/specifications",
    "JEDEC JESD235": "https://www.jedec.org/standards-documents/docs/jesd238a",
    "IEEE 754": "https://standards.ieee.org/ieee/754/6210/",
    "OCP Microscaling Formats": "https://www.opencompute.org/documents/"
    "ocp-microscaling-formats-mx-v1-0-spec-final-pdf",
    "FlashMLA README": "https://github.com/deepseek-ai/FlashMLA",
    "DeepGEMM README": "https://github.com/deepseek-ai/DeepGEMM",
    "DeepEP README": "https://github.com/deepseek-ai/DeepEP",
    "NVIDIA DGX H100 datasheet": f"{NVIDIA}/dgx-h100/",
    "DeepSeek, open-infra-index": "https://github.com/deepseek-ai/open-infra-index",
    "SGLang team, lmsys.org, 2025-05-05": f"{LMSYS}/2025-05-05-large-scale-ep/",
    "SGLang team, lmsys.org, 2025-06-16": f"{LMSYS}/2025-06-16-gb200-part-1/",
    "SGLang team, lmsys.org, 2026-01-15": f"{LMSYS}/2026-01-15-chunked-pipeline/",
    "SGLang team, lmsys.org, 2025-09-25": f"{LMSYS}/2025-09-25-gb200-part-2/",
    "Eigen AI team, lmsys.org, 2025-07-17": f"{LMSYS}/2025-07-17-mtp/",
    "Mooncake team, lmsys.org, 2025-07-20": f"{LMSYS}/2025-07-20-k2-large-scale-ep/",
    "Kimi K2 model card": "https://huggingface.co/moonshotai/Kimi-K2-Instruct",
    "Qwen2.5-72B model card": "https://huggingface.co/Qwen/Qwen2.5-72B",
    "Llama-4-Maverick-17B-128E model card": "https://huggingface.co/meta-llama/"
    "Llama-4-Maverick-17B-128E",
    "MiniMax-M2.5 model card": "https://huggingface.co/MiniMaxAI/MiniMax-M2.5",
    "Qwen3-32B model card": "https://huggingface.co/Qwen/Qwen3-32B",
    "Qwen3.5-397B-A17B model card": "https://huggingface.co/Qwen/Qwen3.5-397B-A17B",
    "Qwen3-Coder-Next model card": "https://huggingface.co/Qwen/Qwen3-Coder-Next",
    "GLM-4.7-Flash model card": "https://huggingface.co/zai-org/GLM-4.7-Flash",
    "GLM-4.5-Air model card": "https://huggingface.co/zai-org/GLM-4.5-Air",
    "Qwen3-Coder-480B-A35B model card": (
        "https://huggingface.co/Qwen/Qwen3-Coder-480B-A35B-Instruct"
    ),
    "Qwen3-Coder-30B-A3B model card": (
        "https://huggingface.co/Qwen/Qwen3-Coder-30B-A3B-Instruct"
    ),
    "transformers, defaults of": "https://github.com/huggingface/transformers",
    "NVIDIA, Model Optimizer": "https://github.com/NVIDIA/TensorRT-Model-Optimizer/"
    "blob/main/examples/benchmark.md",
    "MIT HAN Lab, lmquant": "https://github.com/mit-han-lab/lmquant",
    "SemiAnalysis, InferenceX": "https://github.com/SemiAnalysisAI/InferenceX",
    "Daniel et al., continuous batching benchmark": "https://www.anyscale.com/blog/"
    "continuous-batching-llm-inference",
    "Agrawal et al., Sarathi-Serve": "https://www.usenix.org/conference/osdi24/"
    "presentation/agrawal",
    "vLLM 0.33.0": "https://github.com/vllm-project/vllm/tree/v0.33.0",
    "tiny-llm": "https://github.com/skyzh/tiny-llm",
    "Azure LLM inference trace 2023": "https://github.com/Azure/AzurePublicDataset",
    "NVIDIA FasterTransformer": "https://github.com/NVIDIA/FasterTransformer/blob/main/"
    "docs/bert_guide.md",
    "FlashAttention, hopper": "https://github.com/Dao-AILab/flash-attention/blob/main/"
    "hopper/tile_size.h",
    "Dao et al., Flash-Decoding": "https://pytorch.org/blog/flash-decoding/",
    "splitwise-sim": "https://github.com/Mutinifni/splitwise-sim",
    "vLLM, pull request 42324": "https://github.com/vllm-project/vllm/pull/42324",
    "aiconfigurator-core": "https://github.com/ai-dynamo/aiconfigurator",
    "SGLang, pull request 6929": "https://github.com/sgl-project/sglang/pull/6929",
    "Gray, Getting Started with CUDA Graphs": "https://developer.nvidia.com/blog/"
    "cuda-graphs/",
}


class Document(str):
    """Name of a source, with the address at which it can be read.

    Raises:
        ValueError: the address is none of the web.
    """

    url: str

    def __new__(cls, name: str, url: str) -> Document:
        """Attach an address to a name; the name itself stays as it is."""
        if not (isinstance(url, str) and url.startswith("https://")):
            raise ValueError(f"url must begin with https://, got {url!r}")
        made = super().__new__(cls, name)
        made.url = url
        return made

    def __getnewargs__(self) -> Any:
        """What a copy in another process is made of."""
        return str(self), self.url


def address(source: str) -> str:
    """Web address of a source, empty where none is known.

    A :class:`Document` has its own. A number on arXiv and the name of a checkpoint say
    where they are; the rest is a table of what the catalog cites in several places.
    """
    if isinstance(source, Document):
        return source.url
    if found := ARXIV.search(source):
        return f"https://arxiv.org/abs/{found[1]}"
    if found := CONFIG.match(source):
        return f"https://huggingface.co/{found[1]}"
    known = [begin for begin in ADDRESSES if source.startswith(begin)]
    return ADDRESSES[max(known, key=len)] if known else ""
