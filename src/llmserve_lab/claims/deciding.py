"""Ten claims that change what a reader would decide, out of all that do not hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from llmserve_lab.claims.all_claims import CLAIMS
from llmserve_lab.claims.page import beside
from llmserve_lab.page.html import escape, tag

# By the claim: what to do otherwise than it suggests.
INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        "004-81": "Count on a GPU the caches of its own requests alone: many more fit.",
        "07-34": "Count on a batch to read nearly all experts: buy bandwidth for what "
        "is stored.",
        "06-38": "Plan the room for MLA's cache by its own bytes: many more requests "
        "fit than GQA's factor says.",
        "004-13": "Plan for the larger cache: fewer requests fit on a GPU.",
        "06-40": "Divide a cache by the rate one way: sending takes longer, and so "
        "does the first token.",
        "000-22": "With two batches in flight, count the wire into the step.",
        "000-27": "Count the tokens in flight too: then the formula holds at large "
        "ratios.",
        "05-44": "Promise the gap of the longest iteration: chunks alone do not make "
        "iterations alike.",
        "004-83": "Plan prefill by the tokens: below very long prompts it grows little "
        "faster than they do.",
        "07-14": "Size the attention and dense layers as well: a token always reads "
        "them.",
    }
)


class DecidingClaims:
    """The claims of :data:`INSTEAD` as a list, each with a link to its row."""

    def __repr__(self) -> str:
        """A line for each: its name, what it says, and what to do instead."""
        lines = (f"{name}: {_said(name)} {own}" for name, own in INSTEAD.items())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        items = "\n".join(_item(name, instead) for name, instead in INSTEAD.items())
        return tag("ol", f"\n{items}\n")


def _item(name: str, instead: str) -> str:
    link = tag("a", name, href=f"#claim-{name}")
    return tag("li", f"{link}: {escape(_said(name))} {tag('strong', escape(instead))}")


def _said(name: str) -> str:
    claim = CLAIMS[name]
    return f"{claim.says} ({beside(claim)})."
