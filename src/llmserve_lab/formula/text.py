"""Numbers as people read them: three digits, an SI prefix, and always the unit."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal

from llmserve_lab.checks import whole

MOST_DIGITS = 60
PREFIXES = ((15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k"))
SMALL = ((-3, "m"), (-6, "µ"), (-9, "n"))
TAKES_PREFIX = {"byte": "B", "FLOP": "FLOP", "s": "s"}
NO_PREFIX = frozenset({"FLOP/byte"})  # intensities are compared with each other
# What is said beside a name: "a prompt of 512 tokens", "a user sees 20 tokens/s".
OF_ONE_REQUEST = {"token/request": "token", "token/(request*s)": "token/s"}
COUNTED = "token request parameter layer head pair element device iteration dollar"
PLURALS = frozenset(COUNTED.split(" "))

# The one form of a reference in text: Markdown, to something that has a name.
LINK = re.compile(r"\[([^\[\]]*)\]\(#((?:eq|fig)-[\w.-]+)\)")


def without_links(text: str) -> str:
    """Text for a terminal: a reference is its words alone."""
    return LINK.sub(r"\1", text)


def unit_text(unit: str, *, plural: bool = False) -> str:
    """Spell a unit for a reader: ``byte/s`` becomes ``B/s``, ``1/s`` ``per s``."""
    if unit in ("", "dimensionless"):
        return ""
    parts = unit.replace(" ", "").split("/", 1)
    head, *below = (part.replace("**2", "²").replace("*", "·") for part in parts)
    if head == "1":
        return "per " + below[0].strip("()")
    head = TAKES_PREFIX.get(head, head + "s" if plural and head in PLURALS else head)
    return "/".join([head, *below])


def rounded(value: float | Decimal, digits: int) -> tuple[str, int]:
    """Significant digits of ``value`` and the power of ten of the first one.

    Ties round away from zero, as a reader does it by hand and as JavaScript does it.
    """
    whole(most=MOST_DIGITS, digits=digits)
    context = Context(prec=digits, rounding=ROUND_HALF_UP)
    number = context.plus(Decimal(value).copy_abs())
    text = "".join(map(str, number.as_tuple().digits)).ljust(digits, "0")
    return text, number.adjusted()


def plain(value: float | Decimal, digits: int = 3) -> str:
    """Round to ``digits`` significant digits, no exponent, commas from 10,000.

    Raises:
        ValueError: the value is infinite or not a number.
    """
    if not math.isfinite(value):
        raise ValueError(f"value must be finite to be displayed, got {value}")
    if value == 0:
        return "0"
    text, power = rounded(value, digits)
    number = Decimal(text).scaleb(power - len(text) + 1)
    shown = f"{number:,f}" if power >= 4 else f"{number:f}"
    shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    return "-" + shown if value < 0 else shown


def si(value: float, unit: str = "", digits: int = 3) -> str:
    """Format a number with its unit: ``14 GB``, ``989 TFLOP/s``, ``26,703 tokens``.

    Counts (tokens, tokens per request) below ten million are written out to the last
    one; everything else is rounded to ``digits`` significant digits.

    Raises:
        ValueError: the value is infinite or not a number.
    """
    value = float(value)
    if not math.isfinite(value):
        raise ValueError(f"value must be finite to be displayed, got {value}")
    scale, prefix = _prefix(value, unit, digits)
    text = _number(value, unit, scale, digits)
    return f"{text} {prefix}{unit_text(unit, plural=text != '1')}".rstrip()


def said(value: float, unit: str = "", digits: int = 3) -> str:
    """Format a number that stands beside its name: no "per request" needs saying there.

    Where units are multiplied and cancelled, :func:`si` writes them in full.

    Raises:
        ValueError: the value is infinite or not a number.
    """
    return si(value, said_unit(unit), digits)


def signed(share: float, digits: int = 0) -> str:
    """A difference as per cent, always with its sign: ``+5 %``, ``−12 %``, ``+0 %``."""
    amount = round(100 * share, digits) + 0.0  # what rounds to nothing has a plus
    return f"{amount:+.{digits}f}\N{NO-BREAK SPACE}%".replace("-", "−")


def off_by(share: float) -> str:
    """A difference in whole per cent, close set: ``+5%``, ``−12%``, and ``0%``."""
    return "0%" if round(100 * share) == 0 else f"{share:+.0%}".replace("-", "−")


def said_unit(unit: str) -> str:
    """A unit as it is said beside a name: tokens of one request are just tokens."""
    return OF_ONE_REQUEST.get(unit, unit)


def _prefix(value: float, unit: str, digits: int) -> tuple[int, str]:
    """Power of ten and letter of the SI prefix, where the unit takes one."""
    if unit in NO_PREFIX or unit.split("/")[0] not in TAKES_PREFIX or value == 0:
        return 0, ""
    power = rounded(value, digits)[1]
    steps = PREFIXES if power >= 0 else SMALL
    return next(((size, letter) for size, letter in steps if power >= size), (0, ""))


def _number(value: float, unit: str, scale: int, digits: int) -> str:
    if _counts(unit) and 10**digits <= abs(value) < 1e7:
        whole = Decimal(value).quantize(Decimal(1), ROUND_HALF_UP)
        return plain(whole, whole.adjusted() + 1)
    power = rounded(value, digits)[1] - scale if value else 0
    if -3 <= power < 7:
        return plain(Decimal(value).scaleb(-scale), digits)
    text = plain(Decimal(value).scaleb(-scale - power), digits)
    return f"{text}×10{_superscript(power)}"


def _counts(unit: str) -> bool:
    """Whether a unit counts things, such as tokens or tokens per request."""
    return PLURALS.issuperset(unit.split("/"))


def _superscript(exponent: int) -> str:
    return str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def kept(number: float) -> float:
    """A number to be stored: the last of its digits differ between processors."""
    return number if float(number).is_integer() else float(f"{number:.12g}")
