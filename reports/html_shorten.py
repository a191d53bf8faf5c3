"""A script as a page carries it: without comments and indentation, its own names short.

Every name that the script binds gets another one. A name that is bound outside all brackets gets
the same everywhere; any other is bound inside each outermost statement that uses it, and gets one
there. Within a statement no two names get the same one, so what a name refers to stays as it
was, whatever the scopes. Names of properties, texts, and names that others bind (keywords, the
browser, code around it) are left alone. A line end stays unless what stands before or after it
makes it meaningless, so no statement ends elsewhere. Constants in a row share their ``const``, and
the last statement of a block has no semicolon.

It reads the JavaScript that our own scripts are written in: no labels, no ``switch``, no pattern
(``const {a}=``) outside all brackets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from itertools import count, groupby, pairwise, product
from string import ascii_letters

_RESERVED = """
async await break case catch class const continue default delete do else export extends false
finally for function get if in instanceof let new null of return set static super switch
this throw true try typeof var void while with yield arguments eval
"""
_BROWSER = """
Array Blob Boolean Infinity Intl JSON Map Math NaN Number Object Promise RegExp Set String URL
URLSearchParams clearTimeout document getSelection globalThis history isNaN
location navigator parseFloat parseInt setTimeout undefined
"""
KEYWORDS = frozenset(_RESERVED.split())
GLOBALS = frozenset(_BROWSER.split())
"""What our scripts take from the browser."""

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|//[^\n]*)+)
    |(?P<name>[A-Za-z_$][\w$]*)
    |(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\d[\w.]*)
    |(?P<sign>=>|\.\.\.|\?\.(?=\D)|\?\?=?|&&|\|\||.)""",
    re.VERBOSE,
)
_REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[a-z]*")
_CHUNK = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*(`|\$\{)", re.DOTALL)
# What a brace opens an object or a pattern after; after anything else it opens a block.
_OBJECTS = "( [ , = ? : && || ?? ??= ... ! return const let of in"
_BEFORE_OBJECT = frozenset(_OBJECTS.split())
_BEFORE_REGEX = _BEFORE_OBJECT | {"=>", "{", ";", ""}
_BEGINS = frozenset(["function", "async", "class", "const", "let", "for"])
_BLOCKS = frozenset(["function", "for", "while", "if"])
_BINDS = frozenset(["const", "let", "function", "class"])
_EMPTY = frozenset(["for", "while", "if"])  # after their brackets a semicolon is a statement
_LINES = "{ ; , ( [ = => ? : && || ??"
_OPEN_LINE, _CLOSED_LINE = frozenset(_LINES.split()), frozenset("})]")


@dataclass(slots=True)
class _Token:
    kind: str  # name, text, sign, or space
    text: str
    brace: str  # the innermost open brace: object, class, block, template, or ( or [


def shortened(source: str, outside: frozenset[str] = frozenset()) -> str:
    """The script with its own names shortened; ``outside`` are names that other code binds."""
    tokens = list(_tokens(source))
    solid = [token for token in tokens if token.kind != "space"]
    fixed = KEYWORDS | GLOBALS | outside
    named = [
        (token, role, chunk)
        for token, role, chunk in zip(solid, _roles(solid), _chunks(solid), strict=True)
        if role != "fixed" and token.text not in fixed
    ]
    everywhere = set(_outermost(solid))
    shared = _given((t.text for t, _, _ in named if t.text in everywhere), fixed)
    for _, group in groupby(named, key=lambda one: one[2]):
        some = list(group)
        here = {shared[token.text] for token, _, _ in some if token.text in everywhere}
        local = _given((t.text for t, _, _ in some if t.text not in everywhere), fixed | here)
        for token, role, _ in some:
            short = (shared | local)[token.text]
            token.text = f"{token.text}:{short}" if role == "both" else short
    return "".join(_written(tokens))


def _outermost(solid: list[_Token]) -> Iterator[str]:
    """The names that are bound outside all brackets."""
    ends = ["", *(token.text for token in solid), ""]
    for token, before, after in zip(solid, ends, ends[2:], strict=False):
        listed = before == "," and after == "="
        if token.kind == "name" and not token.brace and (before in _BINDS or listed):
            yield token.text


def _given(used: Iterable[str], taken: Set[str]) -> dict[str, str]:
    """Short names for names, the shortest for those that are used most."""
    names = (name for name, _ in Counter(used).most_common())
    return dict(zip(names, _short(taken), strict=False))


def own_names(source: str) -> set[str]:
    """The names that would be shortened."""
    solid = [token for token in _tokens(source) if token.kind != "space"]
    found = {t.text for t, role in zip(solid, _roles(solid), strict=True) if role != "fixed"}
    return found - KEYWORDS - GLOBALS


def _short(taken: Set[str]) -> Iterator[str]:
    for length in count(1):
        for letters in product(ascii_letters, repeat=length):
            name = "".join(letters)
            if name not in taken:
                yield name


# ---- reading -----------------------------------------------------------------------------------


def _tokens(source: str) -> Iterator[_Token]:
    """The tokens of a script; a template literal is a token for each piece between its values."""
    open_braces: list[str] = []
    at, last, before = 0, "", ""
    while at < len(source):
        inner = open_braces[-1] if open_braces else ""
        if source[at] == "`" or (source[at] == "}" and inner == "template"):
            found = _CHUNK.match(source, at + 1)
            assert found is not None, "a template literal that ends"
            if source[at] == "}":
                open_braces.pop()
            if found[1] == "${":
                open_braces.append("template")
            text, kind = source[at : found.end()], "text"
        elif source[at] == "/" and source[at + 1] != "/" and last in _BEFORE_REGEX:
            found = _REGEX.match(source, at)
            assert found is not None, "a regular expression that ends"
            text, kind = found[0], "text"
        else:
            found = _TOKEN.match(source, at)
            assert found is not None and found.lastgroup is not None
            text, kind = found[0], found.lastgroup
        if kind == "sign" and text in "({[":
            open_braces.append(_opened(text, last, before))
        elif kind == "sign" and text in ")}]":
            open_braces.pop()
        yield _Token(kind, text, inner)
        at = found.end()
        if kind != "space":
            before, last = last, "(" if kind == "text" and text.endswith("${") else text


def _opened(sign: str, last: str, before: str) -> str:
    if sign != "{":
        return sign
    return (
        "object"
        if last in _BEFORE_OBJECT
        else "class"
        if before in ("class", "extends")
        else "block"
    )


def _roles(solid: list[_Token]) -> Iterator[str]:
    """Of each token: fixed, own (a name that is bound or read), or both (``{name}``)."""
    ends = ["", *(token.text for token in solid), ""]
    for token, before, after in zip(solid, ends, ends[2:], strict=False):
        key = token.brace == "object" and before in ("{", ",")
        named = (key and after in (":", "(")) or (token.brace == "class" and after == "(")
        if token.kind != "name" or before in (".", "?.") or named:
            yield "fixed"
        elif key and after in ("}", ",", "="):
            yield "both"
        else:
            yield "own"


def _chunks(solid: list[_Token]) -> Iterator[int]:
    """The number of the outermost statement (or of some in a row) that each token stands in."""
    number, last = 0, ";"
    for token in solid:
        if not token.brace and token.text in _BEGINS and last in (";", "}"):
            number += 1
        yield number
        last = token.text


# ---- writing -----------------------------------------------------------------------------------


def _written(tokens: list[_Token]) -> Iterator[str]:
    """Texts of tokens; between them what has to stand there."""
    begun = [""]  # inside each open bracket, the first word of the statement
    opened: list[str] = []  # what stands before each open bracket
    before, skips, header = "", False, ""
    for gap, token, after in _spaced(tokens):
        ends_line = "\n" in gap and not (before in _OPEN_LINE or token.text in _CLOSED_LINE)
        if skips:
            skips = False
            continue
        if token.text == ";" and after == "}" and not (before == ")" and header in _EMPTY):
            before = ";"
            continue
        if ends_line:
            # A function, a loop or a condition ends with its block.
            yield "" if before == "}" and header == ")" and begun[-1] in _BLOCKS else "\n"
        elif gap and before and _touch(before[-1], token.text[0]):
            yield " "
        if token.text[0] in ")]}":
            begun.pop()
            header = opened.pop()
        elif ends_line or before in (";", "{", "") or (before == "}" and token.kind == "name"):
            begun[-1] = token.text
        if token.kind != "name" and token.text[-1] in "([{":
            begun.append("")
            opened.append(before)
        skips = token.text == ";" and begun[-1] == "const" and after == "const"
        before = "," if skips else token.text
        yield before


def _spaced(tokens: list[_Token]) -> Iterator[tuple[str, _Token, str]]:
    """Every token that is not space, with the space before it and the text after it."""
    solid = [token for token in tokens if token.kind != "space"]
    gaps = [
        before.text if before.kind == "space" else ""
        for before, token in pairwise([_Token("sign", "", ""), *tokens])
        if token.kind != "space"
    ]
    yield from zip(gaps, solid, [*(token.text for token in solid[1:]), ""], strict=True)


def _touch(left: str, right: str) -> bool:
    """True where two characters side by side would read as one token."""
    word = re.compile(r"[\w$]")
    return bool(word.match(left) and word.match(right)) or (left in "+-</!" and right in "+-/!")
