"""The models of the chapter, and what its formulas ask about them."""

from __future__ import annotations

from collections.abc import Iterator

from llmserve_lab.catalog import MODELS, PRECISIONS, Cited, ModelShape
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.catalog.records.tensor import Tensor
from llmserve_lab.formula.text import plain
from llmserve_lab.notation import ffn_matrices, quantity
from llmserve_lab.page.table import Table

LLAMA, QWEN = MODELS["llama-2-7b"], MODELS["qwen2.5-72b"]
DEEPSEEK, KIMI = MODELS["deepseek-v3"], MODELS["kimi-k2"]
WIDTHS = ("bytes_weight", "bytes_act")
GATED = ("gate_proj", "up_proj", "down_proj")


def moe_of(model: ModelShape) -> MoeFfn:
    """The model's mixture of experts.

    Raises:
        TypeError: it has a dense FFN.
    """
    if not isinstance(model.ffn, MoeFfn):
        raise TypeError(f"model must have experts, got {model.name}")
    return model.ffn


def sizes_of(model: ModelShape, *, precision: str = "bf16") -> dict[str, Cited]:
    """What the chapter's formulas ask about a mixture of experts.

    Raises:
        TypeError: the model has a dense FFN.
    """
    spec, form = moe_of(model), PRECISIONS[precision]
    shape = {
        ffn_matrices.name: len(GATED),
        "d_model": model.d_model,
        "d_expert": spec.d_ff,
        "n_experts": spec.n_experts,
        "n_shared": spec.n_shared,
        "top_k": spec.top_k,
    }
    widths = {name: form.bytes_in(quantity(name).unit) for name in WIDTHS}
    return {n: model.cited(v, quantity(n).unit) for n, v in shape.items()} | widths


def ffn_tensors(model: ModelShape) -> Iterator[Tensor]:
    """The weight tensors of a model's FFNs, without its dense layers if it has others.

    The bias that balances the load is left out.
    """
    for tensor in model.tensors():
        kind = tensor.name.split(".")[0]
        in_ffn = kind in (*GATED, "experts", "shared_experts", "router")
        if in_ffn and not tensor.name.endswith(".bias"):
            yield tensor


def per_layer(model: ModelShape) -> tuple[float, float]:
    """Parameters of one FFN layer, stored and touched by a row, added up by tensor."""
    spec = model.ffn
    n_layers = model.n_layers - getattr(spec, "n_dense_layers", 0)
    tensors = list(ffn_tensors(model))
    return (
        sum(each.params for each in tensors) / n_layers,
        sum(each.params_active for each in tensors) / n_layers,
    )


def inventory(*models: ModelShape) -> Table:
    """Table of what one FFN layer and the whole model store, and what a row touches."""
    rows = []
    for model in models:
        stored, touched = per_layer(model)
        rows.append(
            (
                model.name,
                plain(stored / 1e9),
                plain(touched / 1e9),
                f"{plain(100 * touched / stored)} %",
                plain(model.params_total / 1e9),
                plain(model.params_active / 1e9),
                f"{plain(100 * model.params_active / model.params_total)} %",
            )
        )
    part = ("stored", "touched", "share")
    columns = (
        "model",
        *(f"layer {each}" for each in part),
        *(f"model {each}" for each in part),
    )
    return Table("Billions of parameters, added up tensor by tensor", columns, rows)


DEFAULT = sizes_of(DEEPSEEK)
EP, TP = 8.0, 4.0
