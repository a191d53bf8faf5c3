"""The nodes of a formula. Operators are calls too, so one function table serves every form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Number:
    """A literal; ``unit`` is set by ``q(2, "1/token")``."""

    value: float
    at: int = 0
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A word of a choice; the checker adds the declared ``words`` it belongs to."""

    value: str
    at: int = 0
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Name:
    """A field, constant or metric."""

    name: str
    at: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator of the table with its arguments."""

    function: str
    args: tuple[Node, ...]
    at: int = 0


Node = Number | Text | Name | Call


def walk(node: Node) -> Iterator[Node]:
    """Every node, parents before children, in written order."""
    yield node
    if isinstance(node, Call):
        for arg in node.args:
            yield from walk(arg)


def names(node: Node) -> list[str]:
    """The names a formula refers to, each once, in written order."""
    return list(dict.fromkeys(n.name for n in walk(node) if isinstance(n, Name)))


def rebuild(node: Node, change: Callable[[Node], Node]) -> Node:
    """The tree with ``change`` applied to every node, children first."""
    if isinstance(node, Call):
        node = replace(node, args=tuple(rebuild(arg, change) for arg in node.args))
    return change(node)
