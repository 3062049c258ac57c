"""From a model's list of tensors to the arguments of the chapter's formulas."""

from __future__ import annotations

from llmserve_lab.catalog import Cited, ModelShape, workload
from llmserve_lab.catalog.records.attention import GroupedQueryAttention
from llmserve_lab.catalog.records.ffn import GeluFfn, SwigluFfn
from llmserve_lab.checks import whole
from llmserve_lab.end_to_end import formulas as f
from llmserve_lab.page.table import Table

FFN_MATRICES = {GeluFfn: 2, SwigluFfn: 3}
NORM_VECTORS = {"rms": 2, "layer": 4}
OUTSIDE = ("embed_tokens", "norm", "norm.bias", "lm_head")


def cached_heads(model: ModelShape) -> GroupedQueryAttention:
    """The attention of a model whose heads have keys and values of their own.

    Raises:
        ValueError: its attention is latent.
    """
    if not isinstance(model.attention, GroupedQueryAttention):
        raise ValueError(
            f"model must cache keys and values, got {model.attention.kind}"
        )
    return model.attention


def dense_ffn(model: ModelShape) -> GeluFfn | SwigluFfn:
    """The FFN of a model that sends every row through the same matrices.

    Raises:
        ValueError: it is a mixture of experts.
    """
    if not isinstance(model.ffn, GeluFfn | SwigluFfn):
        raise ValueError(f"model must have a dense FFN, got {type(model.ffn).__name__}")
    return model.ffn


def block_of(model: ModelShape) -> dict[str, float]:
    """What ``attn_params`` to ``block_params`` ask about a dense model.

    Raises:
        ValueError: its attention is latent, its FFN a mixture of experts, or it has
            what the formulas leave out, biases or a norm on queries and keys.
    """
    attention, ffn = cached_heads(model), dense_ffn(model)
    for option in ("qkv_bias", "out_bias", "qk_norm"):
        if getattr(attention, option):
            raise ValueError(
                f"model must have no {option}, attn_params to block_params "
                "do not count it, "
                f"got {model.name}"
            )
    return {
        "d_model": model.d_model,
        "d_ff": ffn.d_ff,
        "d_head": attention.d_head,
        "n_heads": attention.n_heads,
        "n_kv_heads": attention.n_kv_heads,
        "ffn_matrices": FFN_MATRICES[type(ffn)],
        "norm_vectors": NORM_VECTORS[model.norm],
    }


def counted_block(model: ModelShape) -> dict[str, int]:
    """Parameters of one block by part, added up over the list of tensors."""
    found = {"attn_params": 0, "ffn_params": 0, "norm_params": 0}
    for tensor in model.tensors():
        if tensor.name in OUTSIDE:
            continue
        found[_part(tensor.name)] += tensor.params // model.n_layers
    return found | {"block_params": sum(found.values())}


def _part(name: str) -> str:
    if "layernorm" in name:
        return "norm_params"
    inside = ("gate_proj", "up_proj", "down_proj")
    return "ffn_params" if name in inside else "attn_params"


def block_table(model: ModelShape) -> Table:
    """Table of a block's parameters: closed form beside the list of tensors."""
    known, counted = block_of(model), counted_block(model)
    rows = [
        (
            f"{each.result.meaning}, {each.link}",
            int(each.at(known)),
            counted[each.name],
        )
        for each in (f.ATTN_PARAMS, f.FFN_PARAMS, f.NORM_PARAMS, f.BLOCK_PARAMS)
    ]
    columns = ("one block", "closed form", "list of tensors")
    return Table(f"{model.name}: what a block is made of", columns, rows)


def parts_of(model: ModelShape) -> dict[str, int]:
    """Parameters of a whole model by part, added up over the list of tensors."""
    found = {"embedding": 0, "attention": 0, "ffn": 0, "head": 0, "norms": 0}
    outside = {"embed_tokens": "embedding", "lm_head": "head"}
    inside = {"attn_params": "attention", "ffn_params": "ffn", "norm_params": "norms"}
    for tensor in model.tensors():
        name = tensor.name
        part = "norms" if name.startswith("norm") else inside[_part(name)]
        found[outside.get(name, part)] += tensor.params
    return found


def scoring_every_row(
    flops: float, rows: float, passes: int, head_params: int
) -> float:
    """FLOPs when the LM head scores all rows, as training needs, and not one a pass.

    Args:
        flops: FLOPs with the last row of each pass scored.
        rows: Rows of all passes together.
        passes: Passes, each of which needs the logits of its last row.
        head_params: Parameters of the LM head; each costs a row 2 FLOPs.
    """
    return flops + 2.0 * head_params * (rows - passes)


def prompt_flops(model: ModelShape, tokens: int) -> float:
    """FLOPs in the matrices for a prompt, of which the LM head scores the last row."""
    whole(of="token", tokens=tokens)
    head = parts_of(model)["head"]
    return 2.0 * ((model.params_active - head) * tokens + head)


def generating(model: ModelShape) -> dict[str, Cited]:
    """What ``recompute_flops`` and ``cached_flops`` ask about a model."""
    head = Cited(parts_of(model)["head"], "parameter", "counted", model.source)
    return {**workload(model), "params_head": head}


def token_of(model: ModelShape) -> dict[str, float]:
    """What ``iteration_flops`` of a single token asks about a model."""
    attention = cached_heads(model)
    return {
        "params_active": model.params_active,
        "n_layers": model.n_layers,
        "n_heads": attention.n_heads,
        "d_head": attention.d_head,
    }


def matrices_of(model: ModelShape, **changed: float) -> float:
    """Parameters of a dense model that multiply, but for the gains of its norms."""
    known = block_of(model) | changed
    block = float(f.ATTN_PARAMS.at(known)) + float(f.FFN_PARAMS.at(known))
    return model.n_layers * block + model.vocab * model.d_model
