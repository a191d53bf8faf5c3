"""YAML text to plain data plus the position of every key and value.

The C loader composes the node tree (node marks included); one walk turns it into data. Numbers keep
to what people mean (``1e9`` is a number, ``017`` is 17, ``on`` and ``12:30`` are text), and what
would make positions or meaning lie (repeated keys, aliases, merge keys, tags) is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from planner.errors import InputError, Problem, Span

try:
    _Loader: Any = yaml.CSafeLoader
except AttributeError:  # PyYAML built without libyaml
    _Loader = yaml.SafeLoader

Key = tuple[str | int, ...]

_INT = re.compile(r"[-+]?[0-9][0-9_]*")
_FLOAT = re.compile(r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9]+|[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?")
_SURROGATE = re.compile("[\ud800-\udfff]")
# What the resolver gives to untagged text; the text itself is read by our own patterns.
_TAGS = {
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "timestamp", "value", "map", "seq")
}
_MAX_DEPTH = 40
_MAX_DIGITS = 100  # Python refuses to read whole numbers of over 4,300 digits
_MAX_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class YamlFile:
    """Plain data of one document, with a span for each key and each value by path."""

    name: str
    data: Any
    lines: tuple[str, ...]
    key_spans: dict[Key, Span] = field(repr=False)
    value_spans: dict[Key, Span] = field(repr=False)

    def span(self, key: Key, of_key: bool = False) -> Span:
        """The place of a value (or its key); the nearest parent when the path does not exist."""
        tables = (
            (self.key_spans, self.value_spans) if of_key else (self.value_spans, self.key_spans)
        )
        for end in range(len(key), -1, -1):
            for table in tables:
                if key[:end] in table:
                    return table[key[:end]]
        return Span(self.name)

    def problem(
        self, key: Key, expected: str, found: str, hint: str = "", of_key: bool = False
    ) -> Problem:
        """A problem at this path, with the path spelled out as its key."""
        return Problem(self.span(key, of_key), path_text(key), expected, found, hint)


def path_text(key: Key) -> str:
    """``('metrics', 'ttft', 2)`` as ``metrics.ttft[2]``."""
    text = ""
    for part in key:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def scalar(text: str) -> Any:
    """The plain value of an unquoted scalar."""
    if text in ("", "null", "~"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if len(text) > _MAX_DIGITS:
        return text
    if _INT.fullmatch(text):
        return int(text.replace("_", ""))
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    return text


class _Walk:
    def __init__(self, name: str, lines: tuple[str, ...]) -> None:
        self.name, self.lines = name, lines
        self.key_spans: dict[Key, Span] = {}
        self.value_spans: dict[Key, Span] = {}
        self.problems: list[Problem] = []

    def span(self, node: yaml.Node) -> Span:
        start, end = node.start_mark, node.end_mark
        one_line = end.line == start.line
        text = self.lines[start.line] if start.line < len(self.lines) else ""
        length = end.column - start.column if one_line else len(text) - start.column
        quoted = isinstance(node, yaml.ScalarNode) and node.style in ("'", '"')
        column = start.column + 1 + int(quoted)
        return Span(self.name, start.line + 1, column, max(1, length - 2 * int(quoted)), text)

    def refuse(self, node: yaml.Node, key: Key, expected: str, found: str, hint: str = "") -> None:
        self.problems.append(Problem(self.span(node), path_text(key), expected, found, hint))

    def value(self, node: yaml.Node, key: Key) -> Any:
        self.value_spans[key] = self.span(node)
        if len(key) > _MAX_DEPTH:
            self.refuse(node, (), f"at most {_MAX_DEPTH} levels", "deeper nesting")
            return None
        if node.tag not in _TAGS:
            tag = str(node.tag).replace("tag:yaml.org,2002:", "!!")
            self.refuse(node, key, "plain data", f"the tag {tag}")
            return None
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, key)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(child, (*key, i)) for i, child in enumerate(node.value)]
        return node.value if getattr(node, "style", None) else scalar(node.value)

    def mapping(self, node: yaml.MappingNode, key: Key) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self.refuse(key_node, key, "a plain key", "a list or mapping as key")
                continue
            name = key_node.value
            path = (*key, name)
            if name == "<<":
                self.refuse(key_node, key, "plain keys", "the merge key '<<'", "write it out")
                continue
            if name in data:
                first = self.key_spans[path].line
                self.refuse(key_node, path, "each key once", f"a repeat of line {first}")
                continue
            self.key_spans[path] = self.span(key_node)
            data[name] = self.value(value_node, path)
        return data


def parse(text: str, name: str) -> YamlFile:
    """Read one YAML document.

    Raises:
        InputError: a syntax error, a repeated key, an anchor, alias, merge key or tag.
    """
    lines = tuple(text.splitlines())
    if _SURROGATE.search(text):  # bytes of a command line that were no UTF-8
        raise InputError(Problem(Span(name), "", "UTF-8 text", "bytes that are no characters"))
    bad = _unreadable(text, name, lines)
    if bad:
        raise InputError(bad)
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise InputError(_syntax_problem(error, name, lines)) from None
    except RecursionError:
        raise InputError(
            Problem(Span(name), "", f"at most {_MAX_DEPTH} levels", "deeper nesting")
        ) from None
    walk = _Walk(name, lines)
    data = walk.value(node, ()) if node is not None else None
    if walk.problems:
        raise InputError(walk.problems)
    return YamlFile(name, data, lines, walk.key_spans, walk.value_spans)


def _unreadable(text: str, name: str, lines: tuple[str, ...]) -> list[Problem]:
    """Anchors, aliases and tags, found by their events before the tree is composed (no bombs)."""
    found: list[Problem] = []
    if not any(sign in text for sign in "&*!"):
        return found
    try:
        for event in yaml.parse(text, Loader=_Loader):
            word = _sign(event)
            if word:
                mark = event.start_mark
                assert mark is not None
                span = Span(name, mark.line + 1, mark.column + 1, len(word), lines[mark.line])
                found.append(Problem(span, "", "plain data", f"'{word}'", "write the value out"))
    except (yaml.YAMLError, RecursionError):
        return []  # reported by the composer with its own position
    return found


def _sign(event: yaml.Event) -> str:
    """The anchor, alias or tag of an event, as it is written."""
    anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
    if anchor:
        return f"{'*' if isinstance(event, yaml.AliasEvent) else '&'}{anchor}"
    return str(tag).replace("tag:yaml.org,2002:", "!!") if tag else ""


# What the parser says, as (what it says, expected, found, hint).
_SYNTAX = (
    ("mapping values are not allowed", "a text without ': '", "a ':' where none may stand",
     "put a text that holds ': ' in quotes"),
    ("found another document", "one document", "a second one", "leave the line '---' out"),
    ("cannot start any token", "YAML", "a character that cannot start a value",
     "indent with blanks, not with tabs, and put a text that starts with @, ` or % in quotes"),
)  # fmt: skip


def _syntax_problem(error: yaml.YAMLError, name: str, lines: tuple[str, ...]) -> Problem:
    if isinstance(error, yaml.reader.ReaderError):
        return _character_problem(error, name, lines)
    mark = getattr(error, "problem_mark", None)
    found = " ".join(str(getattr(error, "problem", None) or error).split())
    span = Span(name)
    if mark is not None:
        text = lines[mark.line] if mark.line < len(lines) else ""
        span = Span(name, min(mark.line, max(0, len(lines) - 1)) + 1, mark.column + 1, 1, text)
    for said, expected, what, hint in _SYNTAX:
        if said in found:
            return Problem(span, "", expected, what, hint)
    start = getattr(error, "context_mark", None)
    context = str(getattr(error, "context", None) or "")
    hint = f"{context} that starts in line {start.line + 1}" if context and start else context
    missing = re.match("(?:did not find expected|expected) (.*?)(?:, but.*)?$", found)
    if missing:
        return Problem(span, "", missing[1], "something else", hint)
    return Problem(span, "", "YAML", found, hint)


def _character_problem(
    error: yaml.reader.ReaderError, name: str, lines: tuple[str, ...]
) -> Problem:
    """A character that YAML does not know, such as NUL, with the line that holds it."""
    code = error.character if isinstance(error.character, int) else ord(error.character)
    found = f"the character U+{code:04X}"
    for number, line in enumerate(lines, 1):
        if chr(code) in line:
            return Problem(Span(name, number, line.index(chr(code)) + 1), "", "plain text", found)
    return Problem(Span(name), "", "plain text", found)


def read(path: Path, name: str | None = None) -> YamlFile:
    """Read a YAML file; ``name`` is how messages call it.

    Raises:
        InputError: the file is missing, too large, not UTF-8, or not plain YAML.
    """
    shown = name or str(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        folder = isinstance(error, IsADirectoryError)
        reason = "a folder" if folder else (error.strerror or "an unreadable file").lower()
        raise InputError(Problem(Span(shown), "", "a readable file", reason)) from None
    if len(raw) > _MAX_BYTES:
        raise InputError(Problem(Span(shown), "", "at most 8 MiB of YAML", f"{len(raw)} bytes"))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(
            Problem(Span(shown, line, 1), "", "UTF-8 text", f"byte 0x{raw[error.start]:02x}")
        ) from None
    return parse(text, shown)
