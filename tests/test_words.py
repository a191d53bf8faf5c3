"""Every text has its translation, none loses a number, and English stays as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import words as texts

from planner.metrics import OPTIONAL, MetricSet
from reports import words_source
from reports.words import Words, called, languages, say, speaking, words_of

PLACE = re.compile(r"\{\d+\}")
OTHERS = [language for language in languages() if language != "en"]


@pytest.fixture(scope="module")
def metrics() -> MetricSet:
    return MetricSet.load(also=OPTIONAL)


def missing(language: str, wanted: dict[str, str]) -> list[str]:
    known = words_of(language).entries
    return [f"{where}: {text!r}" for text, where in wanted.items() if text not in known]


def test_there_is_chinese() -> None:
    assert languages() == ("en", "zh-CN")


@pytest.mark.parametrize("language", OTHERS)
def test_every_declaration_is_translated(language: str, metrics: MetricSet) -> None:
    wanted = texts.of_declarations(metrics)
    assert len(wanted) > 700
    assert missing(language, wanted) == [], "add these to templates/words"


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_of_the_reports_is_translated(language: str, repository: Path) -> None:
    wanted = texts.of_reports(repository)
    assert len(wanted) > 400
    assert missing(language, wanted) == [], "add these to templates/words"


@pytest.mark.parametrize("language", OTHERS)
def test_nothing_is_translated_that_nobody_says(
    language: str, repository: Path, metrics: MetricSet
) -> None:
    """A text that was changed leaves its translation behind; those of the planner are sentences."""
    said = {**texts.of_declarations(metrics), **texts.of_reports(repository)}
    planner = "\n".join(
        path.read_text("utf-8")
        for folder, kind in (("planner", "*.py"), ("reports", "*.py"), ("templates", "*.js"))
        for path in sorted((repository / folder).rglob(kind))
    )
    flat = re.sub(r'"\s*f?"', "", planner)
    left = [
        text
        for text in words_of(language).entries
        if text not in said and not all(piece in flat for piece in _words(text))
    ]
    assert left == []


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z-]{2,}", PLACE.sub(" ", text))


@pytest.mark.parametrize("language", OTHERS)
def test_no_translation_loses_a_place(language: str) -> None:
    for text, translated in words_of(language).entries.items():
        assert sorted(PLACE.findall(text)) == sorted(PLACE.findall(translated)), text
        assert translated.strip(), text


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_finds_its_own_translation(language: str, repository: Path) -> None:
    """No other sentence takes the text first, whatever stands in its places.

    Keys of templates and scripts are looked up as they stand, so no other can take them.
    """
    words = words_of(language)
    where = texts.of_reports(repository)
    for text, translated in words.entries.items():
        if not PLACE.search(text) or where.get(text, "").startswith("templates"):
            continue
        filled, wanted = (
            PLACE.sub(lambda place: f"<{place[0][1:-1]}7>", t) for t in (text, translated)
        )
        assert words(filled) == wanted, text
        for filling in ("{}7; a", "{}7, b", "{}7: c", "{}7 (d)", "{}7 e f"):
            # Signs of a sentence inside a name: where it is cut may differ, nothing is lost.
            filled = PLACE.sub(lambda place: filling.format(place[0][1:-1]), text)  # noqa: B023
            assert sorted(re.findall(r"\d7", filled)) == sorted(re.findall(r"\d7", words(filled)))


def test_english_is_the_source() -> None:
    with speaking("en"):
        assert say("All 3 cases fit") == "All 3 cases fit"
    assert say("Weights") == called("Weights") == "Weights"


def test_a_text_without_translation_stays_english() -> None:
    with speaking("zh-CN"):
        assert say("Nobody ever says this of 3 cards") == "Nobody ever says this of 3 cards"
        assert called("my own metric") == "my own metric"
        assert say("All 30 cases fit") == "全部 30 个用例放得下"
    assert say("All 30 cases fit") == "All 30 cases fit"


def test_labels_of_users_are_never_taken_for_a_sentence() -> None:
    with speaking("zh-CN"):
        assert called("All 30 cases fit") == "All 30 cases fit"


def test_words_in_places_are_translated_and_names_are_not() -> None:
    words = Words({"{1} is bound by {2}": "{2} <- {1}", "memory": "mem", "by": "x"})
    assert words("B200 is bound by memory") == "mem <- B200"
    assert words("is bound by") == "is bound by"
    assert words("a is bound by b is bound by c") == "b is bound by c <- a"


# ---- templates and scripts ---------------------------------------------------------------------


def test_texts_of_a_template_are_found() -> None:
    source = (
        '<p class="a{{ b if c > 1 }}" aria-label="Formula of {{ d }}">The {{ x }} of {{ y }}</p>'
        "{% if a %}<b>{{ z }}</b> only{% endif %}<i>, {{ w }}</i>"
    )
    assert words_source.template_texts(source) == [
        "Formula of {1}", "The {1} of {2}", "only",
    ]  # fmt: skip


def test_a_template_in_another_language_keeps_its_jinja() -> None:
    with speaking("zh-CN"):
        made = words_source.template_source("<p>The first {{ a|f }} of {{ b.c }} rows; all of them "
                                            "are in the workbook and in the plan inside this page."
                                            "</p>{% if x %}")  # fmt: skip
    assert made == (
        "<p>显示 {{ b.c }} 行中的前 {{ a|f }} 行；全部见工作簿和本页内的规划数据。</p>{% if x %}"
    )


def test_marks_of_a_script_leave_no_trace_in_english() -> None:
    marked = (
        'a(_("Copied"),_`${f({x:1})} saved`,called(x),named(n,m[n]?.label??"a"),_("")+csv(b));'
        'const t={[_("fits")]:"good"};c=`${d}${_(" of ")}${e}`'
    )
    assert words_source.script_source(marked) == (
        'a("Copied",`${f({x:1})} saved`,x,m[n]?.label??"a",csv(b));'
        'const t={"fits":"good"};c=`${d} of ${e}`'
    )


def test_marks_of_a_script_become_chinese() -> None:
    marked = 'a(_("Copied"),_`${f("(")} saved`,called(x),named(n,y),_("")+b,{[_("fits")]:1})'
    with speaking("zh-CN"):
        made = words_source.script_source(marked)
    assert made == ('a("已复制",`已保存 ${f("(")}`,said(x),saidName(n,y),"\\ufeff"+b,{"放得下":1})')
    assert words_source.script_texts(marked) == ["Copied", "{1} saved", "fits"]
