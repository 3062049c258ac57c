"""Terms of the KV cache's memory: blocks, sharing, routing."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "paged attention",
        "The cache lies in small blocks anywhere in memory, listed in a table a "
        "request.",
        "kv_memory",
        (
            "PagedAttention",
            "block table",
            "KV blocks",
        ),
    ),
    Term(
        "copy-on-write",
        "Requests share a block until one of them writes into it; then it is copied.",
        "kv_memory",
    ),
    Term(
        "prefix-aware routing",
        "Sending a request to the replica that has the beginning of its prompt in "
        "its cache.",
        "kv_memory",
        ("cache-aware routing",),
    ),
    Term(
        "cache salt",
        "A secret of a tenant that enters the hashes of its blocks, so that no other "
        "tenant finds them.",
        "kv_memory",
        ("cache_salt",),
    ),
    Term(
        "prefix caching",
        "Keeping the cache of the beginning of a prompt for other requests that "
        "begin alike.",
        "kv_memory",
        (
            "prefix sharing",
            "prompt caching",
            "RadixAttention",
        ),
    ),
)
