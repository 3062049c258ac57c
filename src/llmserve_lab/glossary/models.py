"""Terms of models: tokens, layers, attention, phases."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "token",
        "A word or a piece of a word: the unit in which a model reads and writes.",
        "end_to_end",
        ("tokens",),
    ),
    Term(
        "token id",
        "Number of a token in the vocabulary of a model.",
        "end_to_end",
    ),
    Term(
        "vocabulary",
        "All tokens that a model knows, a hundred thousand or more.",
        "end_to_end",
    ),
    Term(
        "byte-pair encoding",
        "The usual way to find a vocabulary: pieces that often stand side by "
        "side are joined, again and again.",
        "end_to_end",
        ("BPE",),
    ),
    Term(
        "large language model",
        "A function from a text to a guess at its next token, with billions of "
        "numbers found in training.",
        "end_to_end",
        ("LLM",),
    ),
    Term(
        "weights",
        "The numbers of a model that training has found. Serving reads them and "
        "never changes them.",
        "end_to_end",
        (
            "parameters",
            "model weights",
        ),
    ),
    Term(
        "active parameters",
        "Those parameters of a mixture of experts that one token meets.",
        "mixture_of_experts",
    ),
    Term(
        "training",
        "Finding the weights: they are adjusted until the model's guesses at a "
        "large text are good.",
        "end_to_end",
        marked=False,
    ),
    Term(
        "forward pass",
        "One evaluation of a model: rows go in at the bottom, scores of the "
        "next token come out at the top.",
        "end_to_end",
        ("pass",),
        marked=False,
    ),
    Term(
        "embedding",
        "The vector that stands for a token inside the model, a row of a table.",
        "end_to_end",
    ),
    Term(
        "block",
        "Attention and a feed-forward network, one after the other; a model is "
        "a stack of blocks, its layers. (A KV cache has blocks of another "
        "kind.)",
        "end_to_end",
        ("transformer block",),
        marked=False,
    ),
    Term(
        "attention",
        "The part of a block in which a row looks at earlier rows: it mixes "
        "their values, weighted by how well its query fits their keys.",
        "end_to_end",
        ("self-attention",),
    ),
    Term(
        "query",
        "The vector with which a row asks in attention.",
        "end_to_end",
        marked=False,
    ),
    Term(
        "key",
        "The vector with which a row answers to queries in attention.",
        "end_to_end",
        marked=False,
    ),
    Term(
        "value",
        "The vector that a row passes on in attention.",
        "end_to_end",
        marked=False,
    ),
    Term(
        "softmax",
        "Turns scores into positive weights that add up to one.",
        "end_to_end",
    ),
    Term(
        "causal mask",
        "The rule that a row sees itself and earlier rows only.",
        "end_to_end",
    ),
    Term(
        "head",
        "One of several attentions side by side in a layer, each on a narrow "
        "slice of the vectors.",
        "end_to_end",
        (
            "attention head",
            "heads",
        ),
        marked=False,
    ),
    Term(
        "multi-head attention",
        "Attention in which each query head has its own keys and values.",
        "end_to_end",
        ("MHA",),
    ),
    Term(
        "grouped-query attention",
        "Attention in which several query heads share the keys and values of "
        "one head, so that the cache is smaller.",
        "end_to_end",
        ("GQA",),
        said=("key–value heads",),
    ),
    Term(
        "multi-query attention",
        "Attention in which all query heads share one head of keys and values.",
        "end_to_end",
        ("MQA",),
    ),
    Term(
        "multi-head latent attention",
        "Attention that caches one narrow vector a token, from which the keys "
        "and values of all heads are made; used by DeepSeek.",
        "deepseek_twin",
        (
            "MLA",
            "latent attention",
        ),
    ),
    Term(
        "rotary position embedding",
        "Marks the place of a token by turning its query and key by an angle.",
        "end_to_end",
        ("RoPE",),
    ),
    Term(
        "feed-forward network",
        "The part of a block that changes each row by itself: two or three matrices.",
        "end_to_end",
        (
            "FFN",
            "MLP",
        ),
    ),
    Term(
        "SwiGLU",
        "A feed-forward network of three matrices, one of which gates another.",
        "end_to_end",
    ),
    Term(
        "RMSNorm",
        "Brings a row to a common length before the next part of the block.",
        "end_to_end",
        ("normalisation",),
    ),
    Term(
        "residual connection",
        "What a part of a block computes is added to its input, not put in its place.",
        "end_to_end",
    ),
    Term(
        "logits",
        "Scores of all tokens of the vocabulary, before they become chances.",
        "end_to_end",
    ),
    Term(
        "LM head",
        "The last matrix: it turns the last row into logits.",
        "end_to_end",
        ("language-model head",),
    ),
    Term(
        "sampling",
        "Drawing the next token from the chances that the model gives.",
        "end_to_end",
        (
            "top-p",
            "greedy decoding",
            "temperature",
        ),
    ),
    Term(
        "end-of-sequence token",
        "The token with which a model says that its answer is complete.",
        "end_to_end",
        ("EOS",),
    ),
    Term(
        "prefill",
        "Reading the prompt: all its tokens go through the model at once and "
        "leave their keys and values in the cache.",
        "end_to_end",
        (
            "prompt processing",
            "context phase",
        ),
    ),
    Term(
        "decode",
        "Writing the answer: one new token a pass for each request.",
        "end_to_end",
        (
            "generation phase",
            "token generation",
        ),
    ),
    Term(
        "KV cache",
        "Keys and values of all earlier tokens of a request, kept so that they "
        "need not be computed again.",
        "end_to_end",
        (
            "key–value cache",
            "key-value cache",
        ),
        said=(
            "cache",
            "KV bytes",
        ),
    ),
    Term(
        "context",
        "The tokens that a row can look at: the prompt and what has been written.",
        "end_to_end",
        (
            "context length",
            "context window",
        ),
        marked=False,
    ),
    Term(
        "mixture of experts",
        "A model whose layers have many feed-forward networks, of which each "
        "token uses a few.",
        "mixture_of_experts",
        ("MoE",),
    ),
    Term(
        "expert",
        "One of the feed-forward networks of a mixture of experts.",
        "mixture_of_experts",
        (
            "routed expert",
            "shared expert",
        ),
    ),
    Term(
        "router",
        "The small matrix that chooses the experts of a token. (It also names "
        "what sends requests to servers.)",
        "mixture_of_experts",
        ("gating network",),
    ),
)
