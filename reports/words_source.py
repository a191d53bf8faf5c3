"""Templates and scripts of the page in another language: their texts are found and replaced.

English sources are used as they are. In a template every run of text between tags, and every
``aria-label``, is a text; what Jinja puts in becomes ``{1}``, ``{2}`` of its key. In a script texts
are marked: ``_("text")``, ``_`text ${value}` ``, ``called(word)`` for a word of a choice,
``named(name,label)`` and ``reasoned(name,text)`` for what a declaration says. For English the marks
are taken out again, so that a page carries nothing for languages that it does not speak.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reports.words import ENGLISH, language, say

_JINJA = re.compile(r"(\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\})", re.DOTALL)
_SAID = re.compile(r"\bsay\('([^']*)'\)")
_LABEL = re.compile(r'(aria-label=")([^"]*)(")')
_PLACE = re.compile(r"\{(\d+)\}")
_FULL = re.compile("([\uff1a\uff1b\uff0c\u3002]) +")  # wide signs bring their own space
_LETTERS = re.compile(r"[A-Za-z]{2}")
_MARK = re.compile(r"(?<![\w$.])(?:_(?=[(`])|(?:called|named|reasoned)(?=\())")
_RUNTIME = {"called": "said", "named": "saidName", "reasoned": "saidWhy"}

Say = Callable[[str], str]


# ---- templates ---------------------------------------------------------------------------------


def template_source(source: str) -> str:
    """A Jinja template in the language that is spoken."""
    return source if language() == ENGLISH else _template(source, say)


def template_texts(source: str) -> list[str]:
    """The texts of a template, as keys of a dictionary."""
    found: list[str] = []
    _template(source, lambda text: found.append(text) or text)  # type: ignore[func-returns-value]
    found += _SAID.findall(source)
    return found


def _template(source: str, speak: Say) -> str:
    out: list[str] = []
    run: list[str] = []  # texts and expressions that stand together outside tags
    tag: list[str] = []  # the pieces of a tag; empty outside
    for piece in _pieces(source):
        if tag:
            tag.append(piece)
            if piece.endswith(">") and not piece.startswith("{"):
                out.append(_labels("".join(tag), speak))
                tag = []
        elif piece.startswith(("<", "{%", "{#")):
            out.append(_run(run, speak))
            run = []
            if piece.startswith("<") and not piece.endswith(">"):
                tag = [piece]
            else:
                out.append(_labels(piece, speak))
        else:
            run.append(piece)
    return "".join([*out, _run(run, speak)])


def _pieces(source: str) -> Iterator[str]:
    """Jinja's own pieces whole; between them tags (or their ends) and texts."""
    inside = False  # a tag goes on behind a piece of Jinja
    for part in _JINJA.split(source):
        if part.startswith(("{{", "{%", "{#")):
            yield part
            continue
        while part:
            cut = part.find(">") + 1 if inside else part.find("<")
            cut = cut if cut > 0 or (not inside and cut == 0) else len(part)
            if not inside and cut == 0:
                inside = True
                continue
            head, part = part[:cut], part[cut:]
            inside = inside and not head.endswith(">")
            yield head


def _run(run: list[str], speak: Say) -> str:
    whole = "".join(run)
    values: list[str] = []
    for piece in run:
        if piece.startswith("{{"):
            values.append(piece)
    texts = "".join(f"{{{_number(run, i)}}}" if p.startswith("{{") else p
                    for i, p in enumerate(run))  # fmt: skip
    key = texts.strip()
    if key == ".":
        return whole.replace(key, speak(key))
    if not _LETTERS.search(_PLACE.sub("", key)) or '="' in key:  # attributes in a macro
        return whole
    start = texts.index(key)
    shown = _FULL.sub(r"\1", texts[:start] + speak(key) + texts[start + len(key) :])
    return _PLACE.sub(lambda place: values[int(place[1]) - 1], shown)


def _number(run: list[str], index: int) -> int:
    return sum(piece.startswith("{{") for piece in run[: index + 1])


def _labels(tag: str, speak: Say) -> str:
    def label(found: re.Match[str]) -> str:
        return found[1] + _run([p for p in _JINJA.split(found[2]) if p], speak) + found[3]

    return _LABEL.sub(label, tag)


# ---- scripts -----------------------------------------------------------------------------------


def script_source(source: str) -> str:
    """A script in the language that is spoken; that of English without the marks."""
    return _script(source, say, language() == ENGLISH)


def script_texts(source: str) -> list[str]:
    """The marked texts of a script, as keys of a dictionary."""
    found: list[str] = []
    _script(source, lambda text: found.append(text) or text, False)  # type: ignore[func-returns-value]
    return found


def _script(source: str, speak: Say, plain: bool) -> str:
    out, at = [], 0
    while mark := _MARK.search(source, at):
        out.append(source[at : mark.start()])
        end = _closing(source, mark.end())
        inside = source[mark.end() + 1 : end]
        if plain and inside == '""':  # and the sign that joins it to what follows
            at = end + 2
            continue
        out.append(_Marked(mark[0], inside, source[mark.end()] == "`").written(speak, plain))
        at = end + 1
    text = "".join([*out, source[at:]])
    # What is there for the mark alone: brackets around the name of a property, a text put in.
    text = re.sub(r'\$\{"([^"\\`$]*)"\}', r"\1", text)
    return re.sub(r'(?<=[{,])\[("[^"\\]*")\](?=:)', r"\1", text)


@dataclass(frozen=True, slots=True)
class _Marked:
    """One mark: what is inside it, and whether that is a template literal."""

    mark: str
    inside: str
    literal: bool

    def written(self, speak: Say, plain: bool) -> str:
        if self.mark in _RUNTIME:
            return self._runtime(speak, plain)
        if self.literal:
            return self._template(speak, plain)
        text = str(json.loads(self.inside))
        if not text:  # the mark at the start of a file, by which spreadsheets know UTF-8
            return '"\\ufeff"'
        return json.dumps(speak(text), ensure_ascii=False) if not plain else self.inside

    def _runtime(self, speak: Say, plain: bool) -> str:
        inside = _script(self.inside, speak, plain)
        if not plain:
            return f"{_RUNTIME[self.mark]}({inside})"
        return inside if self.mark == "called" else inside.partition(",")[2]

    def _template(self, speak: Say, plain: bool) -> str:
        texts, values = _split(self.inside)
        values = [_script(value, speak, plain) for value in values]
        shown = "".join(f"{text}{{{i}}}" for i, text in enumerate(texts, 1)).removesuffix(
            f"{{{len(texts)}}}"
        )
        shown = shown if plain else speak(shown)
        return "`" + _PLACE.sub(lambda place: f"${{{values[int(place[1]) - 1]}}}", shown) + "`"


def _split(inside: str) -> tuple[list[str], list[str]]:
    """Texts and expressions of a template literal, in turn."""
    texts, values, at = [], [], 0
    while (start := inside.find("${", at)) >= 0:
        end = _closing(inside, start + 1)
        texts.append(inside[at:start])
        values.append(inside[start + 2 : end])
        at = end + 1
    return [*texts, inside[at:]], values


_PAIRS = {"(": ")", "{": "}", "[": "]"}


def _closing(source: str, start: int) -> int:
    """The place of what closes the bracket or quote at ``start``."""
    opened = source[start]
    at = start + 1
    while source[at] != _PAIRS.get(opened, opened):
        if source[at] == "\\":
            at += 1
        elif opened in _PAIRS and source[at] in "({[\"'`":
            at = _closing(source, at)
        elif opened == "`" and source.startswith("${", at):
            at = _closing(source, at + 1)
        at += 1
    return at
