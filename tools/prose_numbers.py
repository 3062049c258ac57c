"""Find numbers typed into prose, where only numbers that code printed belong.

A numeral counts from two significant digits on: "two phases", "1 GPU" and "100 %" are
language, "15.2" and "26,703" are results. What is left out is listed in `ALLOWED`.
"""

import re

NUMERAL = r"\d[\d.,]*"

ALLOWED = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?s)<!--.*?-->",
        r"(?m)^\([\w:.-]+\)=\s*$",  # a label
        r"(?m)^:(?:label|name|width|height|class)+:.*$",  # options of a directive
        r"(?m)^(?:`{3,}|:{3,})\{[\w:-]+\} *[\w:.-]*",  # a directive and its label
        r"\{[\w:-]+\}`[^`]*`",  # a role: cite
        r"\[[^\[\]]*\]\(#num-\w+\)",  # what a cell printed, compared with it
        r"\]\([^)\s]*\)",  # where a link leads
        r"\b(?:https?|arxiv|doi)[:/][^\s)>\]]*",
        r"\b[Aa]r[Xx]iv[: ]\s?\d{4}\.\d{4,5}(?:v\d+)?",
        r"§+\s?[\d.]+(?:[–-][\d.]+)?",
        r"\b(?i:article|equation|eq\.|figure|question|section|table"
        r"|part|page|version|Python)s? \d[\d.]*(?:[–-][\d.]+)?",
        r"(?m)^\s*\d+\. ",  # the number of a list's item
        r"\b(?:January|February|March|April|May|June|July|August|September|October"
        r"|November|December) (?:\d{1,2}, )?(?:19|20)\d\d\b",
        r"\((?:[^()\d]*[ ,])?(?:19|20)\d\d[a-z]?\)",  # the year of a citation
        r"\b[A-Za-zα-ωκℓ][\w./-]*",  # H100, Llama-2-7B, FP8, d_1024
    )
)


def significant_digits(numeral: str) -> int:
    """Digits that carry information: zeros at the ends of an integer do not."""
    digits = re.sub(r"[^\d]", "", numeral)
    if "." not in numeral.rstrip(".,"):
        digits = digits.rstrip("0")
    return len(digits.lstrip("0"))


def typed_numbers(markdown: str) -> list[str]:
    """Numerals of two or more significant digits that stand in the text itself."""
    for pattern in ALLOWED:
        markdown = pattern.sub(" ", markdown)
    numerals = (match.rstrip(".,") for match in re.findall(NUMERAL, markdown))
    return [numeral for numeral in numerals if significant_digits(numeral) > 1]
