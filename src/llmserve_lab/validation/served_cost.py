"""The engine's cost of a served mixture of experts, its layers counted in kernels.

:class:`.served_form.ServedPredictor` prices runs whose attention was counted request by
request; an engine has only sums over an iteration: pairs, tokens of cache, requests.
Here the same bill is written as a line in these sums. It is exact where

- a window, or what an indexer lets a row attend to, is full (prompts of 128 tokens in
  gpt-oss, of 2,048 with an indexer; shorter ones are charged for a full one),
- prompts stay whole: for a later chunk, keys and values that are made from the latent
  anew are not charged.

A window of more tokens than prompts have (Llama 4's) is taken never to be full. What
vLLM's attention takes along a context where more than eight heads share a KV head is a
time of the mean context, which no such sum has: it is not in it.
"""

from __future__ import annotations

from dataclasses import replace

from llmserve_lab import catalog
from llmserve_lab.catalog import Accelerator, Link, ModelShape
from llmserve_lab.catalog.arguments import stored_in
from llmserve_lab.catalog.data.trial_models import INDEXED
from llmserve_lab.catalog.records.attention import LatentAttention
from llmserve_lab.catalog.records.ffn import MoeFfn
from llmserve_lab.checks import of_type
from llmserve_lab.collectives.formulas import ALL_REDUCE_BYTES
from llmserve_lab.engine import IterationCost
from llmserve_lab.notation import all_reduces_per_layer
from llmserve_lab.validation.checkpoints import read_bytes, row_s
from llmserve_lab.validation.constants import ServingConstants, achieved
from llmserve_lab.validation.expert_form import DENSE, kept_of, mended_cost
from llmserve_lab.validation.kernel_form import layer_kernels, state_s
from llmserve_lab.validation.latent_form import latent_cost, weighed
from llmserve_lab.validation.on_devices import ModelOnDevices
from llmserve_lab.validation.protocol import BYTES_8
from llmserve_lab.validation.served import served_constants
from llmserve_lab.validation.served_form import FOUR, ServedConstants
from llmserve_lab.validation.unit_work import BYTES_16


def cache_bytes(precision: str) -> float:
    """Bytes of a cached number: as a weight has, but no engine was measured below 8."""
    return max(BYTES_8, float(catalog.precision(precision).bytes_kv))


def mixture_cost(
    shape: ModelShape,
    gpu: Accelerator,
    *,
    tp: int = 1,
    link: Link | None = None,
    precision: str | None = None,
    kv_bytes: float | None = None,
    engine: str | None = None,
    reached: ServingConstants | None = None,
    extra: ServedConstants | None = None,
) -> IterationCost:
    """The cost of an iteration of a mixture on ``tp`` GPUs, fitted to servers.

    Weights are in ``precision``, BF16 by default; of four bits only what a published
    checkpoint that is known has in four, of other models all but the LM head. A GPU
    that does not compute in it widens them. A cached number takes ``kv_bytes``, by
    default :func:`cache_bytes`. Of an ``engine`` that is ``"sglang"`` decodes wait for
    the launches of prompts. The constants are the six of dense models, what is
    ``reached``, and ``extra`` ones of mixtures, by default as fitted.

    Raises:
        LookupError: there is no such precision.
        ValueError: the model has no experts, cannot be cut for ``tp`` GPUs, or the link
            joins fewer.
    """
    of_type(ModelShape, shape=shape)
    of_type(Accelerator, gpu=gpu)
    if not isinstance(shape.ffn, MoeFfn):
        raise ValueError(f"shape must be of a mixture of experts, got {shape.name}")
    reached, extra = reached or achieved(), extra or served_constants()
    stored = stored_in(shape, precision)
    place = ModelOnDevices(shape=shape, accelerator=gpu, precision=stored, tp=tp)
    kv_bytes = cache_bytes(stored) if kv_bytes is None else kv_bytes
    joined = link or (catalog.link(gpu.scale_up) if tp > 1 else None)
    known = _group(place, joined, kv_bytes)  # refuses what cannot be cut or joined
    latent = isinstance(shape.attention, LatentAttention)
    priced = latent_cost if latent else mended_cost
    cost = priced(place, reached, DENSE, kv_bytes=kv_bytes)
    products = (row_s(place, reached, routed=it) for it in (False, True))
    dense_s, expert_s = products
    kernels_s = extra.kernel_s * shape.n_layers
    kernels_s *= layer_kernels(shape, precision=stored, tp=tp)
    four = extra.four_bits if stored == FOUR else 1.0
    cost = replace(
        cost,
        row_s=dense_s + expert_s * extra.products * four,
        experts_s=cost.experts_s * extra.touched,
        overhead_s=kernels_s,
        prompt_s=cost.prompt_s + extra.launched * kernels_s * (engine == "sglang"),
        request_s=cost.request_s + state_s(place, reached),
        collective_row_s=_sent_s(place, joined, reached),
        kv_bytes_per_token=known.kv_bytes_per_token,
        kv_copies=known.kv_copies,
        weight_bytes=_held_bytes(place),
        hbm_bytes=known.hbm_bytes,
        n_layers=shape.n_layers,
        n_gpus=tp,
        max_context=shape.max_context,
    )
    return _attending(cost, place, reached, kv_bytes)


def _group(place: ModelOnDevices, link: Link | None, kv_bytes: float) -> IterationCost:
    """What does not depend on constants: memory, and the cache of a token."""
    shape, tp = place.shape, place.tp
    cost = IterationCost.of(
        shape,
        place.accelerator,
        precision="bf16",
        tp=tp,
        link=link,
        link_latency_s=0.0 if tp > 1 else None,
    )
    return replace(cost, kv_bytes_per_token=shape.kv_bytes_per_token(kv_bytes))


def _held_bytes(place: ModelOnDevices) -> float:
    """Bytes of the weights on all devices, the embedding table in 16 bits among them.

    A tied table is the LM head, too, and stored once.
    """
    shape = place.shape
    table = 0 if shape.tied else shape.vocab * shape.d_model
    read = sum(read_bytes(place, routed=it) for it in (True, False))
    return place.tp * read + table * BYTES_16


def _sent_s(
    place: ModelOnDevices, link: Link | None, reached: ServingConstants
) -> float:
    """Seconds in which a row goes over the link, in 16 bits."""
    if link is None or place.tp == 1:
        return 0.0
    row_bytes = place.shape.d_model * BYTES_16
    sent = float(ALL_REDUCE_BYTES(n_ranks=place.tp, tensor_bytes=row_bytes))
    reduces = place.shape.n_layers * all_reduces_per_layer.value
    return sent * reduces / (float(link.bandwidth) * reached.link)


def _attending(
    cost: IterationCost,
    place: ModelOnDevices,
    reached: ServingConstants,
    kv_bytes: float,
) -> IterationCost:
    """The cost with what attention really sees, as a line in an iteration's sums."""
    if isinstance(place.shape.attention, LatentAttention):
        weights = weighed(place, reached, kv_bytes=kv_bytes)
        if weights.limit <= INDEXED:
            return _near(
                cost,
                share=1.0,
                limit=weights.limit,
                scored_s=weights.scored_pair * cost.pair_s,
                key_s=weights.key * cost.kv_token_s,
            )
        # A decode has one pair more than tokens of cache, and all other pairs are a
        # prompt's: what a prompt's pair saves is taken off all, and put on the cache.
        saved_s = (1 - weights.prompt_pair) * cost.pair_s
        return replace(
            cost,
            pair_s=cost.pair_s - saved_s,
            kv_token_s=cost.kv_token_s + saved_s,
            request_s=cost.request_s + saved_s,
        )
    kept = kept_of(place)
    if kept is None or not 0 < kept.window <= INDEXED:
        return cost
    return _near(cost, share=kept.window_layers / kept.layers, limit=kept.window)


def _near(
    cost: IterationCost,
    *,
    share: float,
    limit: int,
    scored_s: float = 0.0,
    key_s: float = 0.0,
) -> IterationCost:
    """A ``share`` of attention sees ``limit`` tokens a row, whatever the context.

    That is a time of a row beside the products, as a collective's, and of a request.
    Each pair may be scored before, and each token's key read.
    """
    pair_s, token_s = share * cost.pair_s, share * cost.kv_token_s
    return replace(
        cost,
        pair_s=cost.pair_s - pair_s + scored_s,
        kv_token_s=cost.kv_token_s - token_s + key_s,
        collective_row_s=cost.collective_row_s + limit * pair_s,
        request_s=cost.request_s + (limit - 1) * token_s,
    )
