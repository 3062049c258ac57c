"""Terms of machines: GPUs, bounds, links, ways to cut a model."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "BF16",
        "A number in 16 bits, with the range of one in 32; the usual precision "
        "of weights.",
        "roofline",
        ("bfloat16",),
    ),
    Term(
        "GPU",
        "A processor for matrix arithmetic, with a fast memory of its own.",
        "roofline",
        (
            "graphics processing unit",
            "accelerator",
        ),
    ),
    Term(
        "HBM",
        "The memory of a GPU, stacked beside its chip; all weights and caches "
        "lie there.",
        "roofline",
        ("high-bandwidth memory",),
    ),
    Term(
        "FLOP",
        "One multiplication or addition; a multiply–add is two.",
        "roofline",
        (
            "FLOPs",
            "floating-point operation",
        ),
    ),
    Term(
        "tensor core",
        "The unit of a GPU that multiplies small matrices; nearly all of its "
        "peak is there.",
        "roofline",
        (
            "tensor cores",
            "matrix core",
        ),
    ),
    Term(
        "streaming multiprocessor",
        "One of the hundred or so processors of a GPU.",
        "roofline",
        (
            "SM",
            "multiprocessor",
            "compute unit",
        ),
    ),
    Term(
        "tile",
        "The piece of a matrix that a multiprocessor works on at a time.",
        "roofline",
        ("tiling",),
        marked=False,
    ),
    Term(
        "kernel",
        "A program that runs on a GPU, such as one matrix product.",
        "roofline",
        ("GPU kernel",),
    ),
    Term(
        "CUDA graph",
        "Many kernels recorded once and launched together, so that launching "
        "costs less.",
        "continuous_batching",
        ("CUDA graphs",),
    ),
    Term(
        "arithmetic intensity",
        "FLOPs done for each byte read: it decides whether memory or arithmetic "
        "is waited for.",
        "roofline",
        ("operational intensity",),
    ),
    Term(
        "roofline",
        "The bound that a time is at least bytes over bandwidth and FLOPs over "
        "peak, drawn over the arithmetic intensity.",
        "roofline",
        ("roofline model",),
    ),
    Term(
        "ridge point",
        "The arithmetic intensity at which reading and computing take equally long.",
        "roofline",
        ("machine balance",),
    ),
    Term(
        "memory-bound",
        "Limited by the bandwidth of memory; more arithmetic would cost nothing.",
        "roofline",
        (
            "memory bound",
            "bandwidth-bound",
        ),
    ),
    Term(
        "compute-bound",
        "Limited by arithmetic; the bytes are there in time.",
        "roofline",
        ("compute bound",),
    ),
    Term(
        "overhead-bound",
        "Limited by launches and scheduling: neither memory nor arithmetic is busy.",
        "roofline",
        ("launch-bound",),
    ),
    Term(
        "model FLOPs utilisation",
        "Share of the peak that the FLOPs of the model reach.",
        "roofline",
        (
            "MFU",
            "model FLOPs utilization",
        ),
        said=(
            "share of the peak",
            "share of peak",
            "share of the compute peak",
        ),
    ),
    Term(
        "model bandwidth utilisation",
        "Share of the memory bandwidth that the bytes of the model reach.",
        "roofline",
        (
            "MBU",
            "model bandwidth utilization",
        ),
        said=(
            "share of the memory bandwidth",
            "share of memory bandwidth",
        ),
    ),
    Term(
        "NVLink",
        "NVIDIA's link between the GPUs of a server.",
        "tensor_parallel",
        ("NVSwitch",),
    ),
    Term(
        "InfiniBand",
        "A network between servers.",
        "disaggregation",
        (
            "RDMA",
            "RoCE",
            "GPUDirect RDMA",
        ),
    ),
    Term(
        "rank",
        "One GPU among those that run a model together.",
        "tensor_parallel",
        ("ranks",),
    ),
    Term(
        "collective",
        "An operation that all ranks do together, such as an all-reduce.",
        "tensor_parallel",
        (
            "collective communication",
            "NCCL",
        ),
    ),
    Term(
        "all-reduce",
        "A collective after which every rank has the sum of what all ranks had.",
        "tensor_parallel",
        ("allreduce",),
    ),
    Term(
        "all-gather",
        "A collective after which every rank has the pieces of all.",
        "tensor_parallel",
        ("allgather",),
    ),
    Term(
        "reduce-scatter",
        "A collective after which every rank has its piece of the sum.",
        "tensor_parallel",
        ("reducescatter",),
    ),
    Term(
        "all-to-all",
        "A collective in which each rank sends another piece to every other.",
        "mixture_of_experts",
        ("alltoall",),
    ),
    Term(
        "ring",
        "A way to run a collective: each rank sends to its neighbour, again and again.",
        "tensor_parallel",
        ("ring all-reduce",),
        marked=False,
    ),
    Term(
        "tensor parallelism",
        "Each matrix of a layer is cut, and every rank computes with its piece.",
        "tensor_parallel",
        (
            "TP",
            "tensor parallel",
        ),
    ),
    Term(
        "column-parallel",
        "Of a matrix that is cut by columns: each rank computes a part of the outputs.",
        "tensor_parallel",
        ("column parallel",),
    ),
    Term(
        "row-parallel",
        "Of a matrix that is cut by rows: each rank computes a partial sum of "
        "all outputs.",
        "tensor_parallel",
        ("row parallel",),
    ),
    Term(
        "sequence parallelism",
        "What is done to each row by itself is divided by rows among the ranks.",
        "parallelism",
        ("SP",),
    ),
    Term(
        "data parallelism",
        "Whole copies of a model, each for requests of its own.",
        "parallelism",
        (
            "DP",
            "replica",
        ),
    ),
    Term(
        "pipeline parallelism",
        "Whole layers on each rank, passed through one after the other.",
        "parallelism",
        ("PP",),
    ),
    Term(
        "expert parallelism",
        "Each rank holds some of the experts, and tokens travel to theirs.",
        "mixture_of_experts",
        ("EP",),
        said=("ranks that share the experts",),
    ),
    Term(
        "dispatch",
        "Sending tokens to the ranks of their experts.",
        "mixture_of_experts",
        ("DeepEP",),
    ),
    Term(
        "combine",
        "Bringing the outputs of a token's experts back together.",
        "mixture_of_experts",
        marked=False,
    ),
    Term(
        "two-batch overlap",
        "Half of the rows compute while the other half travel.",
        "deepseek_twin",
        (
            "TBO",
            "dual-batch overlap",
        ),
    ),
    Term(
        "expert-parallel load balancer",
        "Copies busy experts to more ranks, so that no rank has much more work.",
        "mixture_of_experts",
        ("EPLB", "redundant experts"),
    ),
)
