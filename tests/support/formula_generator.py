"""Random formulas over the function table, so that a new function is drawn from its first day.

Everything is drawn by type, so each text passes the checker: numbers without unit (``n``), whole
numbers (``w``), flags (``f``), words of one choice (``c``), and names of places (``p``).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.expr.functions import FUNCTIONS, Function

# Rows that give a whole number when every argument is one; the checker has the same rule.
_WHOLE_KEEPING = frozenset({"add", "sub", "mul", "neg", "min", "max", "abs", "first_known"})
_LITERALS = ("0", "1", "2")


@dataclass(frozen=True)
class Vocabulary:
    """Names by letter: per case, per layer group, per variant; the words; the set of variants."""

    case: Mapping[str, Sequence[str]]
    group: Mapping[str, Sequence[str]]
    variant: Mapping[str, Sequence[str]]
    words: Sequence[str]
    variants: str


class Generator:
    """Draws formulas; rows that were drawn least are preferred, so all of them are covered."""

    def __init__(self, vocabulary: Vocabulary, seed: int) -> None:
        self.names, self.random = vocabulary, random.Random(seed)
        self.drawn: Counter[str] = Counter()

    def formulas(self, count: int, depth: int = 4, limit: int = 500) -> list[tuple[str, str]]:
        """Distinct pairs of kind letter and text, none longer than the language allows."""
        found: dict[str, str] = {}
        while len(found) < count:
            kind = self.random.choice("nnnwwffc")
            text = self.draw(kind, self.random.randint(1, depth))
            if len(text) <= limit:
                found.setdefault(text, kind)
        return [(kind, text) for text, kind in found.items()]

    def draw(self, kind: str, depth: int) -> str:
        """One formula that gives a value of ``kind``."""
        if depth == 0 or kind == "p" or self.random.random() < 0.1:
            return self.leaf(kind)
        rows = [row for row in FUNCTIONS.values() if self.fits(row, kind)]
        if not rows:
            return self.leaf(kind)
        some = self.random.sample(rows, min(3, len(rows)))
        row = min(some, key=lambda r: self.drawn[r.name])
        self.drawn[row.name] += 1
        return self.call(row, kind, depth - 1)

    def leaf(self, kind: str) -> str:
        if kind in "nw" and self.random.random() < 0.15:
            return self.random.choice(_LITERALS)
        if kind == "c" and self.random.random() < 0.3:
            return self.word()
        return self.name(kind)

    def name(self, kind: str) -> str:
        letters = "nw" if kind == "n" else kind
        return self.random.choice([name for letter in letters for name in self.names.case[letter]])

    def word(self) -> str:
        return f'"{self.random.choice(list(self.names.words))}"'

    def fits(self, row: Function, kind: str) -> bool:
        """Whether a row can give this kind."""
        if row.name in ("argmin", "argmax"):
            return kind == "c"
        if row.gives == "v":
            return not row.reduces or kind != "c"
        if row.reduces:
            return kind in {"n": "nw", "w": "nw", "f": "f"}[row.gives]
        if kind == "w" and row.name in _WHOLE_KEEPING:
            return True
        return row.gives == kind or (kind == "n" and row.gives == "w")

    def call(self, row: Function, kind: str, depth: int) -> str:
        if row.reduces:
            return self.reduction(row, kind)
        special = getattr(self, f"_{row.name}", None)
        if special is not None:
            return str(special(kind, depth))
        count = self.random.randint(row.arity[0], min(row.arity[1], 4))
        inner = "w" if kind == "w" and row.name in _WHOLE_KEEPING else ""
        args = [self.draw(inner or self.kind_of(row.letter(i), kind), depth) for i in range(count)]
        return written(row, args)

    def kind_of(self, letter: str, kind: str) -> str:
        return {"v": kind}.get(letter, letter)

    def reduction(self, row: Function, kind: str) -> str:
        """Over one name: the workbook gives longer bodies a helper row of their own."""
        names = self.names.variant if row.reduces == "variant" else self.names.group
        flags = row.units == "flag" or row.name in ("count_of", "count_over")
        letters = "f" if flags else "nw" if kind == "n" else kind
        name = self.random.choice([name for letter in letters for name in names[letter]])
        first = [self.names.variants] if row.reduces == "variant" else []
        return written(row, [*first, name])

    def _pow(self, kind: str, depth: int) -> str:
        exponent = self.random.choice(
            [*_LITERALS, "-1", "-2", "(1 / 2)", self.leaf("n"), f"(1 / {self.name('w')})"]
        )
        return written(FUNCTIONS["pow"], [self.draw("n", depth), exponent])

    def _eq(self, kind: str, depth: int) -> str:
        return self.equal("eq", depth)

    def _ne(self, kind: str, depth: int) -> str:
        return self.equal("ne", depth)

    def equal(self, name: str, depth: int) -> str:
        inner = self.random.choice("wwfc")
        other = self.word() if inner == "c" else self.draw(inner, depth)
        left = self.name("c") if inner == "c" else self.draw(inner, depth)
        return written(FUNCTIONS[name], [left, other])

    def _select(self, kind: str, depth: int) -> str:
        pairs = [
            part for word in self.names.words for part in (f'"{word}"', self.draw(kind, depth))
        ]
        return written(FUNCTIONS["select"], [self.name("c"), *pairs])

    def _argmin(self, kind: str, depth: int) -> str:
        return self.extreme("argmin", depth)

    def _argmax(self, kind: str, depth: int) -> str:
        return self.extreme("argmax", depth)

    def extreme(self, name: str, depth: int) -> str:
        count = self.random.randint(2, len(self.names.words))
        chosen = sorted(self.random.sample(range(len(self.names.words)), count))
        depth = min(depth, 1)
        words = [f'"{self.names.words[i]}"' for i in chosen]
        pairs = [part for word in words for part in (word, self.draw("n", depth))]
        return written(FUNCTIONS[name], pairs)


def written(row: Function, args: Sequence[str]) -> str:
    """The text of one call; operators are always bracketed, since the tree is what is tested."""
    match row.symbol:
        case "":
            return f"{row.name}({', '.join(args)})"
        case "if":
            return f"({args[1]} if {args[0]} else {args[2]})"
        case "not":
            return f"(not {args[0]})"
        case "-" if row.name == "neg":
            return f"(-{args[0]})"
        case symbol:
            return "(" + f" {symbol} ".join(args[: row.arity[1]]) + ")"
