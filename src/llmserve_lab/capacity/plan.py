"""Plan of a model of one's own: every size of server, and how many of which to take."""

from __future__ import annotations

from dataclasses import dataclass

from llmserve_lab import catalog, running_example
from llmserve_lab.capacity.demand import ServerDemand
from llmserve_lab.capacity.group import BLOCK, Group
from llmserve_lab.catalog import Accelerator, ModelShape
from llmserve_lab.catalog.arguments import stored_in
from llmserve_lab.catalog.evidence.servers import MEMORY_SHARE
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import of_type
from llmserve_lab.formula.text import si
from llmserve_lab.validation import Setting


@dataclass(frozen=True)
class NoGroup:
    """A size of group that cannot serve the model, and why."""

    tp: int
    why: str


@dataclass(frozen=True)
class SizingPlan:
    """Every size of group that a node has room for, and the one to take."""

    model: ModelShape
    gpu: Accelerator
    asked: ServerDemand
    sizes: tuple[Group | NoGroup, ...]

    @property
    def groups(self) -> tuple[Group, ...]:
        """The sizes that hold the model and a request."""
        return tuple(each for each in self.sizes if isinstance(each, Group))

    @property
    def choice(self) -> Group | None:
        """The fewest GPUs for the rate; without one, the most requests/s of a GPU.

        Of equals what carries more; None where no size keeps the promises.
        """
        able = [each for each in self.groups if each.best is not None]
        if self.asked.rate is not None:
            return min(able, key=lambda each: (each.gpus, -each.carried), default=None)
        return max(able, key=lambda each: (each.gpu_rate, -each.tp), default=None)


def plan(model: ModelShape, gpu: Accelerator, asked: ServerDemand) -> SizingPlan:
    """The plan of a model on a kind of GPU, priced as measured servers reach it.

    Raises:
        LookupError: there is no such precision, or the GPU does not compute in it and
            the model is dense.
        ValueError: the request is longer than the model reads, or a quantized
            checkpoint is asked for without a precision.
    """
    of_type(ModelShape, model=model)
    of_type(Accelerator, gpu=gpu)
    of_type(ServerDemand, asked=asked)
    precision = stored_in(model, asked.precision)
    # Experts in four bits are widened where nothing computes in four.
    known = catalog.precision if isinstance(model.ffn, MoeFfn) else gpu.peak
    known(precision)
    if model.max_context is not None and asked.length > model.max_context:
        raise ValueError(
            f"prompt + answer must be at most the {model.max_context:,} tokens that "
            f"{model.name} reads, got {asked.length:,}"
        )
    most = min(asked.gpus, gpu.num_devices)
    sizes = [2**power for power in range(most.bit_length())]
    return SizingPlan(
        model,
        gpu,
        asked,
        tuple(_sized(model, gpu, asked, precision, tp) for tp in sizes),
    )


def _sized(
    model: ModelShape, gpu: Accelerator, asked: ServerDemand, precision: str, tp: int
) -> Group | NoGroup:
    """A size of group, or what is in its way."""
    try:
        cost = running_example.served_by(model, gpu, tp=tp, precision=precision)
    except ValueError as error:
        return NoGroup(tp, str(error))
    room_bytes = float(MEMORY_SHARE) * cost.hbm_bytes - cost.weight_bytes
    if room_bytes < BLOCK * cost.kv_bytes_per_token * cost.kv_copies:
        weights, may_use = (
            si(each, "byte")
            for each in (cost.weight_bytes, room_bytes + cost.weight_bytes)
        )
        return NoGroup(tp, f"{weights} of weights do not fit into {may_use}")
    setting = Setting.of_shape(
        model,
        gpu,
        tp=tp,
        clients=1,
        prompt_len=asked.prompt,
        output_len=asked.answer,
        precision=precision,
    )
    return Group(tp, asked, cost, setting, model.vocab)
