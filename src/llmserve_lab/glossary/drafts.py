"""Terms of speculative decoding."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "speculative decoding",
        "A small model drafts some tokens, the large one checks them in one pass.",
        "speculative_decoding",
        (
            "draft model",
            "speculative sampling",
        ),
        said=(
            "draft",
            "drafts",
        ),
    ),
    Term(
        "acceptance",
        "The chance that a drafted token is kept, if all drafts before it were.",
        "speculative_decoding",
        ("acceptance rate",),
    ),
    Term(
        "acceptance length",
        "Mean tokens of a verification pass: the drafts kept, and one token of the "
        "target's own.",
        "speculative_decoding",
        ("tokens of a pass",),
        marked=False,
    ),
    Term(
        "residual distribution",
        "What the target's law has more than the draft's, scaled to a sum of one: "
        "from it comes the token that replaces a rejected draft.",
        "speculative_decoding",
        ("residual",),
        marked=False,
    ),
    Term(
        "multi-token prediction",
        "A head of the model itself that drafts the token after the next.",
        "speculative_decoding",
        ("MTP",),
    ),
    Term(
        "EAGLE",
        "A small head that drafts from the features of the large model.",
        "speculative_decoding",
        ("EAGLE-3",),
    ),
    Term(
        "prompt lookup",
        "Drafts copied from where the last tokens stood before in the text.",
        "speculative_decoding",
        ("n-gram drafting",),
    ),
)
