"""Every number of a text with its unit and its last digit, beside what it should be."""

from collections.abc import Iterator, Sequence

from tests.page.test_prompts import NUMBER, PREFIXES, SCALES


def amounts(text: str) -> Iterator[tuple[str, float, float]]:
    """Each number as printed, in units without a prefix, and half its last digit."""
    for number, scale, prefix in NUMBER.findall(text):
        digits = number.rstrip(",").replace(",", "")
        whole, _, behind = digits.partition(".")
        unit = SCALES[scale] * PREFIXES.get(prefix, 1.0)
        zeros = len(whole) - len(whole.rstrip("0"))
        last = -len(behind) if behind else min(zeros, max(0, len(whole) - 3))
        yield digits, float(digits) * unit, 0.5001 * 10.0**last * unit


def untrue(text: str, wants: Sequence[float]) -> list[tuple[str, float]]:
    """Numbers of a text that are others than wanted, in their order.

    Raises:
        AssertionError: it has more numbers, or fewer.
    """
    found = [*amounts(text)]
    assert len(found) == len(wants), ([each for each, _, _ in found], wants)
    pairs = zip(found, wants, strict=True)
    return [
        (said, want)
        for (said, value, off), want in pairs
        if abs(value - want) > off + 1e-12
    ]
