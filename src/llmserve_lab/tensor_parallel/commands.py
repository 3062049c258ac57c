"""The commands that start a server on several GPUs, and that load it."""

from __future__ import annotations

MODEL = "meta-llama/Llama-3.1-70B-Instruct"
CONTEXT = 16384  # tokens of the longest request; one must fit into the cache
SLOTS = 64  # requests at a time: each needs working space, and two GPUs hold few


def serve(n_gpus: int, share: float) -> str:
    """Start vLLM on ``n_gpus`` with a share of the memory of each."""
    return (
        f"vllm serve {MODEL} \\\n"
        f"  --tensor-parallel-size {n_gpus} \\\n"
        f"  --gpu-memory-utilization {share:g} \\\n"
        f"  --max-model-len {CONTEXT} --max-num-seqs {SLOTS}"
    )


def bench(*, prompt: int, answer: int, num_prompts: int, clients: int) -> str:
    """Load the server with ``clients`` requests at a time, ``num_prompts`` in all."""
    return (
        f"vllm bench serve --model {MODEL} \\\n"
        f"  --dataset-name random --random-input-len {prompt} \\\n"
        f"  --random-output-len {answer} --ignore-eos \\\n"
        f"  --num-prompts {num_prompts} --max-concurrency {clients}"
    )
