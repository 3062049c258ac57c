"""Terms of predictions and their errors."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "KV connector",
        "The part of a serving engine that sends a cache to another engine or "
        "to a store.",
        "disaggregation",
        ("NIXL",),
    ),
    Term(
        "error band",
        "How far off predictions like this one were on measured runs.",
        "how_wrong",
        ("error bar",),
    ),
    Term(
        "mean absolute percentage error",
        "Mean of the relative errors, their signs dropped.",
        "how_wrong",
        ("MAPE",),
    ),
    Term(
        "bias",
        "Mean of the relative errors with their signs: whether predictions are "
        "too high or too low.",
        "how_wrong",
        marked=False,
    ),
    Term(
        "cross-validation",
        "A model is scored on runs that it was not fitted to, each group left "
        "out in turn.",
        "how_wrong",
        ("leave-one-group-out", "leave-one-out"),
    ),
    Term(
        "blind prediction",
        "A prediction made before the measurement was looked at.",
        "how_wrong",
        ("held-out",),
    ),
    Term(
        "calibration",
        "Fitting constants to measured runs.",
        "how_wrong",
        marked=False,
    ),
)
