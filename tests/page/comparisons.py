"""Words that could be turned round, and the names of the numbers between them."""

import re
from collections.abc import Iterator

from planted.charts import OPPOSITE

TURNED = {
    *(word.lower() for word in OPPOSITE),
    *("above", "below", "before", "after", "beyond", "within", "less", "least"),
    *("faster", "slower", "later", "sooner", "higher", "lower", "high", "low"),
    *("better", "worse", "raises", "lowers", "grows", "shrinks", "falls", "rises"),
    *("short", "long", "early", "late", "strict", "loose", "stricter", "fuller"),
    *("cheaper", "slow", "fast", "small", "large", "further", "highest", "lowest"),
    *("many", "few", "no", "not", "nothing", "never", "always", "best", "worst"),
}
NUMBER = re.compile(r"\[[^\]]*\]\(#num-(\w+)\)|\{(\w+)(?::\d+)?\}")
ADDRESS = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def _parts(sentence: str) -> Iterator[str]:
    named = NUMBER.sub(lambda found: f" <{found[1] or found[2]}> ", sentence)
    words = re.findall(r"<\w+>|[^\W\d][\w’'-]*", ADDRESS.sub(r"\1", named))
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if word.startswith("<"):
            yield word.strip("<>")
        elif word.lower() in TURNED:
            yield f"‘{' '.join((word, *after.strip('<>').split()))}’"


def read(sentence: str) -> str:
    """Numbers by their names, and the words with an opposite, each with the next."""
    return " ".join(_parts(sentence))


def compared(sentence: str) -> str:
    """Only the words with an opposite, each with the next."""
    return " ".join(part for part in _parts(sentence) if part.startswith("‘"))
