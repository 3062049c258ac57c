"""Phrases that the data of a built page say again and again: each stands once.

A Sphinx extension, loaded from ``_config.yml``. Names, keys, parts of equations and of
axes come back in every record and chart. Phrases are found by joining the two words
that stand side by side most often, then the next two, while any two do so twice
(Re-Pair, Larsson and Moffat 1999). In place of a phrase the data hold one letter of an
alphabet that the book does not write; ``assets/phrases.js`` puts the phrases back
before any other script reads the data.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DATA = re.compile(r'(<script type="application/json" class="[\w-]+">)(.*?)(</script>)')
WORD = re.compile(r"\w+|\W")
# Cyrillic and Armenian take two bytes, the private use area three.
LETTERS = [chr(code) for code in (*range(0x400, 0x590), *range(0xE000, 0xF900))]
LETTER_BYTES = 2.3  # on the average: what is said often gets a shorter one
LEAST_BYTES = 20  # that a phrase has to save; gzip does as well with less

Word = str | int  # a number is a phrase
Pair = tuple[Word, Word]
END = "\n"  # of a text, which has no other: no phrase goes beyond it


class Phrases:
    """The words of some texts, and the phrases made of pairs of them.

    ``parts[n]`` are the two words that phrase ``n`` is made of.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self.words: list[Word | None] = []
        for text in texts:
            self.words += [*WORD.findall(text), END]
        size = len(self.words)
        self.after, self.before = [*range(1, size + 1)], [*range(-1, size - 1)]
        self.parts: list[Pair] = []
        self.places: dict[Pair, set[int]] = defaultdict(set)
        for place in range(size):
            self._note(place)
        self._join_all()

    def _pair(self, place: int) -> Pair | None:
        """The word at a place and the next one, if a phrase may be made of them."""
        after = self.after[place] if place >= 0 else len(self.words)
        if after >= len(self.words):
            return None
        first, second = self.words[place], self.words[after]
        if first is None or second is None or END in (first, second):
            return None
        return first, second

    def _note(self, place: int) -> Pair | None:
        if pair := self._pair(place):
            self.places[pair].add(place)
        return pair

    def _forget(self, place: int) -> None:
        if pair := self._pair(place):
            self.places[pair].discard(place)

    def _join_all(self) -> None:
        serial = {pair: number for number, pair in enumerate(self.places)}
        queue = [(-len(places), serial[p], p) for p, places in self.places.items()]
        heapify(queue)
        while queue:
            # Entries grow stale when another pair takes their places; to look for them
            # in the heap would cost more than to ask when they come up.
            count, _, pair = heappop(queue)
            now = len(self.places[pair])
            made = [pair]  # asked again where it has lost places to other pairs
            if now == -count and now > 1:
                made = self._join(pair)
            for each in made:
                if (number := len(self.places[each])) > 1:
                    place = serial.setdefault(each, len(serial))
                    heappush(queue, (-number, place, each))

    def _join(self, pair: Pair) -> list[Pair]:
        """Make a phrase of a pair wherever it stands; return the pairs beside it."""
        beside: dict[Pair | None, None] = {}
        for place in sorted(self.places.pop(pair)):
            if self._pair(place) == pair:  # "x x x" holds "x x" once
                self._replace(place)
                beside |= dict.fromkeys(map(self._note, (self.before[place], place)))
        self.parts.append(pair)
        self.places.pop(pair, None)
        return [each for each in beside if each]

    def _replace(self, place: int) -> None:
        """The phrase to be stands at a place, and nothing at the next."""
        gone = self.after[place]
        self._forget(self.before[place])
        self._forget(gone)
        self.words[place], self.words[gone] = len(self.parts), None
        self.after[place] = self.after[gone]
        if self.after[place] < len(self.words):
            self.before[self.after[place]] = place

    def spelled(self, words: Iterable[Word | None], kept: set[int]) -> Iterator[Word]:
        """Words in which a phrase that is not kept is its parts."""
        for word in words:
            if isinstance(word, int) and word not in kept:
                yield from self.spelled(self.parts[word], kept)
            elif word is not None:
                yield word

    def worth(self) -> dict[int, list[Word]]:
        """The phrases that save bytes, the most frequent first, and their words."""
        uses = Counter([*self.words, *(word for pair in self.parts for word in pair)])
        kept = {*range(len(self.parts))}
        for _ in range(2):  # a phrase of dropped ones is longer than it seemed
            for phrase in [*sorted(kept, reverse=True)]:
                words = [*self.spelled(self.parts[phrase], kept)]
                if _saved(words, uses[phrase]) < LEAST_BYTES:
                    kept.discard(phrase)
                    for word in words:
                        uses[word] += uses[phrase] - 1
        often = sorted(kept, key=lambda phrase: (-uses[phrase], phrase))
        return {each: [*self.spelled(self.parts[each], kept)] for each in often}


def _saved(words: list[Word], uses: int) -> float:
    """Bytes that a phrase saves: it stands once, with its letter and a line's end."""
    sizes = (len(w.encode()) if isinstance(w, str) else LETTER_BYTES for w in words)
    size = sum(sizes)
    return uses * (size - LETTER_BYTES) - (size + LETTER_BYTES + 1)


def packed(body: str) -> str:
    """A page's HTML with the phrases of its data in one element before them."""
    texts = [text for _, text, _ in DATA.findall(body)]
    found = Phrases(texts)
    free = (letter for letter in LETTERS if not any(letter in each for each in texts))
    worth = found.worth()
    letters = dict(zip(worth, free, strict=False))
    if len(letters) < len(worth) or not letters:
        return body

    def written(words: Iterable[Word]) -> str:
        return "".join(letters[w] if isinstance(w, int) else w for w in words)

    short = iter(written(found.spelled(found.words, {*worth})).split(END))
    body = DATA.sub(lambda match: match[1] + next(short) + match[3], body)
    lines = END.join(letters[each] + written(words) for each, words in worth.items())
    return f'<script type="text/plain" class="phrases">{lines}</script>{body}'


def pack(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Sphinx is about to write a page: pack the data of its body."""
    if DATA.search(context.get("body", "")):
        context["body"] = packed(context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to Sphinx, after all that changes the data."""
    app.connect("html-page-context", pack, priority=950)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
