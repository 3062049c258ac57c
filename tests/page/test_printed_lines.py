"""What a code cell prints beside a word, or binds to a name, is made of what it says.

Stored outputs follow the code, so two quantities that change places in a printed line
print well. Of two numbers side by side, neither may be made of what the other is
called after: in a line that is printed, in a table below its heads, in names that are
bound one after another, and in the pairs that a loop or a dictionary goes through.
"""

import ast
import re
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from tests.page.records import CHAPTERS, ROOT, notebook_of

ALSO = {  # how code writes the words of lines
    **{"again": "recompute", "once": "cached", "other": "ordinary", "law": "formula"},
    **{"closed": "formula", "simulated": "mean", "maximum": "highest", "off": "error"},
    **{"rescaled": "factor", "wait": "idle", "right": "same", "idle": "bubble"},
    **{"passe": "makespan", "leave": "sent", "send": "sent", "tile": "visited"},
    **{"million": "number", "kept": "keep", "equal": "gap", "flight": "count"},
}
LEAST = 2  # letters of a word
Words = frozenset[str]
Said = tuple[Words, Words]  # what something is called, and what it is made of
every_notebook = pytest.mark.parametrize(
    "path", [ROOT / "intro.ipynb", *CHAPTERS], ids=lambda path: path.stem
)


def words(text: str) -> Words:
    """Words of prose or of code, in small letters, without a plural's end."""
    found = re.split(r"[\W_\d]+", text.lower())
    return frozenset(word.removesuffix("s") for word in found if len(word) >= LEAST)


def meant(said: Words) -> Words:
    """Words, and how code may write them."""
    return said | {ALSO[word] for word in said if word in ALSO}


def mentions(said: Words, code: Words) -> bool:
    """Whether code has a word, maybe longer or shorter."""
    return any(
        one == two or (min(len(one), len(two)) > 3 and one.startswith(two[:4]))
        for one in meant(said)
        for two in code
    )


def sides(one: Said, other: Said) -> tuple[int, int]:
    """How many of two are made of what they are called after; how many crosswise."""
    (called, made), (also, from_) = one, other
    own, strange = made - from_, from_ - made
    first, second = called - also, also - called
    right = mentions(first, own) + mentions(second, strange)
    return right, mentions(first, strange) + mentions(second, own)


def cells(path: Path) -> Iterator[ast.Module]:
    """Code of a notebook that prints."""
    for cell in notebook_of(path)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and "print(" in source:
            yield ast.parse(source)


def bodies(code: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every block of statements, the innermost as well."""
    for node in ast.walk(code):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                yield block


def bound(block: list[ast.stmt]) -> Iterator[list[Said]]:
    """Names of a block and what they are bound to, two by two.

    One that is made of another is no other than it.
    """
    found: list[tuple[str, ast.expr]] = []
    for each in block:
        if isinstance(each, ast.Assign):
            names, made = each.targets[0], each.value
            if isinstance(names, ast.Tuple) and isinstance(made, ast.Tuple):
                pairs = [*zip(names.elts, made.elts, strict=True)]
            else:
                pairs = [(names, made)]
            found += [(n.id, value) for n, value in pairs if isinstance(n, ast.Name)]
    for (one, made), (other, also) in combinations(found, 2):
        asked = {
            n.id for e in (made, also) for n in ast.walk(e) if isinstance(n, ast.Name)
        }
        if not asked & {one, other}:
            yield [
                (words(n), words(ast.unparse(e)))
                for n, e in ((one, made), (other, also))
            ]


def listed(code: ast.AST) -> Iterator[list[Said]]:
    """Words of a dictionary or of rows, and what stands behind each."""
    for node in ast.walk(code):
        pairs: list[tuple[ast.expr | None, list[ast.expr]]] = []
        if isinstance(node, ast.Dict):
            pairs = [(k, [v]) for k, v in zip(node.keys, node.values, strict=True)]
        elif isinstance(node, ast.Tuple | ast.List):
            rows = [row.elts for row in node.elts if isinstance(row, ast.Tuple)]
            pairs = [(row[0], row[1:]) for row in rows if row]
        yield [
            (words(key.value), words(" ".join(map(ast.unparse, values))))
            for key, values in pairs
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        ]


def pieces(call: ast.Call) -> Iterator[str | ast.expr]:
    """Words and expressions that a call prints, in their order."""
    for arg in call.args:
        for part in arg.values if isinstance(arg, ast.JoinedStr) else [arg]:
            if isinstance(part, ast.Constant):
                yield str(part.value)
            else:
                yield part.value if isinstance(part, ast.FormattedValue) else part


def calls(block: list[ast.stmt]) -> Iterator[tuple[bool, ast.Call]]:
    """Calls of print in a block, and whether the line goes on behind."""
    for each in block:
        call = each.value if isinstance(each, ast.Expr) else None
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "print":
            ends = [key.value for key in call.keywords if key.arg == "end"]
            goes_on = any(isinstance(e, ast.Constant) and e.value != "\n" for e in ends)
            yield goes_on, call


def lines(block: list[ast.stmt]) -> Iterator[list[str | ast.expr]]:
    """Printed lines, each as words and expressions in turn."""
    line: list[str | ast.expr] = []
    for goes_on, call in calls(block):
        line += pieces(call)
        if not goes_on:
            yield line
            line = []


def beside(line: list[str | ast.expr]) -> list[Said]:
    """Of each expression of a line the words that belong to it.

    Words before it as far as a comma, and words behind it up to one.
    """
    texts = [""]
    for piece in line:
        if isinstance(piece, str):
            texts[-1] += piece
        else:
            texts.append("")
    ends = [split(text) for text in texts]
    values = [piece for piece in line if not isinstance(piece, str)]
    return [
        (words(f"{before} {behind}"), words(ast.unparse(value)))
        for ((_, before), (behind, _)), value in zip(
            pairwise(ends), values, strict=True
        )
    ]


def split(text: str) -> tuple[str, str]:
    """Of the words between two numbers those of the first, and those of the second."""
    parts = re.split(r"[,;|=]", text)
    if len(parts) == 1 and ":" in text:
        before, _, behind = text.partition(":")
        return ("", before) if not behind.strip() else (before, behind)
    return parts[0], parts[-1]


def tables(code: ast.Module) -> Iterator[list[Said]]:
    """Columns of a table: a printed line of heads, then the rows of a loop."""
    heads: list[str] = []
    for each in code.body:
        for _, call in calls([each]):
            only = [*pieces(call)]
            if len(only) == 1 and isinstance(only[0], str):
                heads = re.split(r"\s{2,}", only[0].strip())
        if heads and isinstance(each, ast.For):
            for line in lines(each.body):
                made = [piece for piece in line if not isinstance(piece, str)]
                if len(heads) > 1 and len(made) >= len(heads):
                    yield [
                        (words(head), words(ast.unparse(value)))
                        for head, value in zip(heads[::-1], made[::-1], strict=False)
                    ]


def groups(code: ast.Module) -> Iterator[tuple[int, list[Said]]]:
    """All that stand side by side in a cell; how many must cross to be turned.

    One is enough for two with words of their own; names often read other names.
    """
    yield from ((1, group) for group in (*listed(code), *tables(code)))
    for block in bodies(code):
        yield from ((2, group) for group in bound(block))
        yield from ((1, beside(line)) for line in lines(block))


def read(code: ast.Module) -> Iterator[tuple[Said, Said, bool, bool]]:
    """Every pair of a cell, whether it is right, and whether it is turned."""
    for least, group in groups(code):
        for one, other in combinations(group, 2):
            right, crosswise = sides(one, other)
            yield one, other, right > 0, crosswise >= (least if all(one + other) else 2)


def crossed(code: ast.Module) -> list[tuple[Said, Said]]:
    """Pairs of which each is made of what the other is called after."""
    return [
        (one, other) for one, other, right, turned in read(code) if turned and not right
    ]


@every_notebook
def test_neither_of_two_numbers_is_what_the_other_is_called(path: Path) -> None:
    assert [pair for code in cells(path) for pair in crossed(code)] == []


def test_many_pairs_are_told_apart_by_their_words() -> None:
    count = {
        path.stem: sum(right for code in cells(path) for *_, right, _ in read(code))
        for path in CHAPTERS
    }
    assert sum(count.values()) > 150, count
    assert sum(many > 2 for many in count.values()) > 10, count


@pytest.mark.parametrize(
    "source",
    [
        'one_us, two_us = times["two_shot_s"], times["one_shot_s"]',
        'one = times["two_shot_s"]\ntwo = times["one_shot_s"]',
        'print(f"one shot {two_us:.2f} µs, two shots {one_us:.2f} µs")',
        'print(f"one shot {two_us} µs,", end="")\nprint(f" two shots {one_us} µs")',
        'print(f"{sent:,} calls, {calls} bytes sent")',
        'print(f"same logits: {pairs}, pairs of each rank: {same}")',
        'both = {"padded": masked_rows, "masked": padded_rows}',
        'for name, x in (("rows, once", RECOMPUTE), ("rows, again", CACHED)): print(x)',
        'print("bits a number  other columns")\nfor x in y: print(f"{others} {bits}")',
    ],
)
def test_two_that_change_places_are_found(source: str) -> None:
    assert crossed(ast.parse(source))
