"""Words of a report in another language: English source texts, and what stands for them.

English is the source: ``say`` gives it back as it is. Other languages have a dictionary each,
``templates/words/LANGUAGE.yaml``. A key with ``{1}`` and ``{2}`` is a sentence whose numbers and
names go into those places of its translation. What no dictionary has stays English, so that
nothing is ever lost. Keys, formulas, units and numbers are never translated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

import yaml

from planner.resources import data_dir

ENGLISH = "en"
_PLACE = re.compile(r"\{(\d+)\}")
_MOST = 50_000  # texts that are remembered; a plan of any size has fewer that differ


class Words:
    """One dictionary: whole texts first, then sentences with places, the most telling ones first.

    Args:
        entries: source text to translation.
    """

    def __init__(self, entries: dict[str, str]) -> None:
        self.entries = entries
        sentences = [text for text in entries if _PLACE.search(text)]
        sentences.sort(key=lambda text: -len(_PLACE.sub("", text)))
        self._sentences = [(_longest(t), _pattern(t), entries[t]) for t in sentences]
        self._found: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """The translation of a text, or the text."""
        found = self.entries.get(text)
        if found is not None:
            return found
        if text not in self._found:
            if len(self._found) >= _MOST:
                self._found.clear()
            self._found[text] = self._sentence(text)
        return self._found[text]

    def _sentence(self, text: str) -> str:
        for literal, pattern, words in self._sentences:
            if literal in text and (found := pattern.fullmatch(text)):
                return self._filled(words, found)
        return text

    def _filled(self, words: str, found: re.Match[str]) -> str:
        return _PLACE.sub(lambda place: self._part(found[f"p{place[1]}"]), words)

    def _part(self, text: str) -> str:
        """What stands in a place: one of our own words, several of them, or a name or number."""
        known = [self.entries[part] for part in text.split(", ") if part in self.entries]
        if len(known) == text.count(", ") + 1:
            return self.entries.get(", ", ", ").join(known)
        return text


def _longest(sentence: str) -> str:
    """The longest piece between places, which a text must hold to be this sentence."""
    return max(_PLACE.sub("\0", sentence).split("\0"), key=len)


def _pattern(sentence: str) -> re.Pattern[str]:
    pieces = _PLACE.split(sentence)  # text, number of a place, text, ...
    seen: set[str] = set()
    out = []
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            out.append(re.escape(piece))
        else:
            out.append(f"(?P=p{piece})" if piece in seen else f"(?P<p{piece}>.*?)")
            seen.add(piece)
    return re.compile("".join(out), re.DOTALL)


@cache
def words_of(language: str) -> Words:
    """The dictionary of a language; that of English is empty."""
    if language == ENGLISH:
        return Words({})
    text = (_folder() / f"{language}.yaml").read_text("utf-8")
    blocks = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return Words({key: words for block in blocks.values() for key, words in block.items()})


def languages() -> tuple[str, ...]:
    """English, and every language that has a dictionary."""
    return (ENGLISH, *sorted(path.stem for path in _folder().glob("*.yaml")))


def _folder() -> Path:
    return data_dir("templates") / "words"


# The language of the report that is being made. It is set once around a whole report, as a number
# format or a time zone would be: handing it through every function that makes a text would put one
# more argument on nearly all of them.
_LANGUAGE: ContextVar[str] = ContextVar("language", default=ENGLISH)


def language() -> str:
    """The language that ``say`` speaks now."""
    return _LANGUAGE.get()


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Everything inside is said in this language."""
    token = _LANGUAGE.set(language)
    try:
        yield
    finally:
        _LANGUAGE.reset(token)


def say(text: str) -> str:
    """A text in the language of the report: of English itself, of others what its dictionary has.

    Give it the finished text; numbers and names in it find their places by themselves.
    """
    spoken = _LANGUAGE.get()
    return text if spoken == ENGLISH else words_of(spoken)(text)


def say_parts(text: str) -> str:
    """Sentences set apart by semicolons, each said by itself."""
    return text if _LANGUAGE.get() == ENGLISH else say("; ").join(map(say, text.split("; ")))


def called(text: str) -> str:
    """A label or a word of a choice, which may be a user's own: translated as a whole or not."""
    spoken = _LANGUAGE.get()
    return text if spoken == ENGLISH else words_of(spoken).entries.get(text, text)


def term(text: str) -> str:
    """A text that is fixed before a language is known; it is said where it is used."""
    return text
