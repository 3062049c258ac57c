"""Whether an expression of a notebook comes to a prediction, back through its cells."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType

from llmserve_lab.formula.origin import Evidence
from llmserve_lab.page.assignments import bare, defined, free
from llmserve_lab.page.derivation import Made, Names
from llmserve_lab.page.predicted.reach import is_compared, predicting, reaches
from llmserve_lab.page.predicted.reading import NotebookReader

Behind = tuple[ast.AST, int | None]  # a piece, and how many assignments before it


@dataclass(frozen=True)
class Chain:
    """The names of a notebook, what its cells have assigned, and their text."""

    names: Names
    made: Sequence[Made]
    codes: Sequence[str] = ()

    def predicts(self, node: ast.expr) -> bool:
        """Whether an expression comes to one of the book's predictors."""
        waiting: list[tuple[ast.AST, int]] = [(bare(node), len(self.made))]
        seen: set[object] = set()
        while waiting:
            piece, until = waiting.pop()
            piece = predicting(piece, self.names)
            used = NotebookReader(self.names).of(piece)
            if any(reaches(each) for each in list(used)):
                return True
            for behind, at in self._behind(piece, until):
                key = behind if at is None else at
                if key not in seen:
                    seen.add(key)
                    waiting.append((behind, until if at is None else at))
        return False

    def _behind(
        self, node: ast.AST, until: int
    ) -> Iterator[tuple[ast.AST, int | None]]:
        """Functions of the notebook that a piece uses, and assignments to its names."""
        for name in free(node):
            value = self.names.get(name)
            if isinstance(value, FunctionType):
                if name in self._functions:
                    yield self._functions[name], None
            elif not (isinstance(value, Evidence) or is_compared(name)):
                places = (i for i in range(until)[::-1] if self.made[i][0] == name)
                if (at := next(places, None)) is not None:
                    yield self.made[at][2], at

    @cached_property
    def _functions(self) -> dict[str, ast.FunctionDef]:
        return {each.name: each for code in self.codes for each in defined(code)}
