"""Terms of cost, capacity and scaling."""

from __future__ import annotations

from llmserve_lab.glossary.term import Term

TERMS = (
    Term(
        "autoscaler",
        "A control loop that watches a signal and starts or stops replicas.",
        "capacity",
        ("autoscaling", "horizontal pod autoscaler", "HPA"),
        said=("autoscaler",),
    ),
    Term(
        "cold start",
        "From the order of a replica until it serves: machine, image, weights, graphs.",
        "capacity",
        said=("cold start",),
    ),
    Term(
        "knee",
        "The rate beyond which latency grows steeply with the load.",
        "capacity",
        marked=False,
    ),
    Term(
        "capacity planning",
        "Finding the cheapest deployment that keeps a service level under a load.",
        "capacity",
        ("sizing",),
    ),
    Term(
        "utilisation of capacity",
        "Requests that come over requests that what stands could serve in time.",
        "capacity",
        said=("used", "capacity"),
    ),
)
