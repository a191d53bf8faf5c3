"""YAML to plain data with places: what people mean, and nothing whose meaning could lie."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import yamlfile
from planner.errors import InputError, Problem, Span
from planner.yamlfile import YamlFile


def data(text: str) -> Any:
    return yamlfile.parse(text, "f.yaml").data


def problems(text: str) -> list[Problem]:
    with pytest.raises(InputError) as caught:
        yamlfile.parse(text, "f.yaml")
    return caught.value.problems


def problem(text: str) -> Problem:
    [one] = problems(text)
    return one


# ---- what people mean ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # PyYAML gives a text for these three: it wants 1.0e+9.
        ("1e9", 1e9),
        ("8E3", 8000.0),
        ("1.5e12", 1.5e12),
        ("1.0e-9", 1e-9),
        # PyYAML gives flags for these.
        ("on", "on"),
        ("off", "off"),
        ("no", "no"),
        ("yes", "yes"),
        ("True", "True"),
        ("true", True),
        ("false", False),
        # PyYAML gives 45000: base 60.
        ("12:30:00", "12:30:00"),
        ("1:30", "1:30"),
        # PyYAML gives 15: octal.
        ("017", 17),
        ("0o17", "0o17"),
        ("0x1F", "0x1F"),
        # PyYAML gives a date object.
        ("2026-08-01", "2026-08-01"),
        ("8_192", 8192),
        ("-5", -5),
        ("+5", 5),
        (".5", 0.5),
        ("5.", 5.0),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("80 gigs", "80 gigs"),
        ("0.90", 0.9),
        ("null", None),
        ("~", None),
        ("", None),
        ("Null", "Null"),
        ("=", "="),
        ("'5'", "5"),
        ('"true"', "true"),
        ("''", ""),
        ("'null'", "null"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_scalars_are_what_people_mean(text: str, value: object) -> None:
    found = data(f"a: {text}")["a"]
    assert found == value
    assert type(found) is type(value)


def test_keys_are_texts_as_they_are_written() -> None:
    assert data("1: a\ntrue: b\n2026-08-01: c\nno: d\n'x y': e") == {
        "1": "a", "true": "b", "2026-08-01": "c", "no": "d", "x y": "e"
    }  # fmt: skip


def test_blocks_of_text_keep_or_fold_their_lines() -> None:
    assert data("a: |\n  x\n  y\n")["a"] == "x\ny\n"
    assert data("a: >-\n  x\n  y\n")["a"] == "x y"


def test_an_empty_file_has_no_data() -> None:
    assert data("") is None
    assert data("# only a comment\n") is None


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "column", "found"),
    [
        ("a: &x 1\nb: 2", 1, 4, "'&x'"),
        ("a: 1\nb: *x", 2, 4, "'*x'"),
        ("<<: {a: 1}", 1, 1, "the merge key '<<'"),
        ("a: <<", 1, 4, "the tag !!merge"),
        ("a: !!str 5", 1, 4, "'!!str'"),
        ("a: !foo 5", 1, 4, "'!foo'"),
        ("a: !!python/object:os.system x", 1, 4, "'!!python/object:os.system'"),
        ("!!map {a: 1}", 1, 1, "'!!map'"),
        ("? [a]\n: 1", 1, 3, "a list or mapping as key"),
    ],
)
def test_what_would_make_places_or_meaning_lie_is_refused(
    text: str, line: int, column: int, found: str
) -> None:
    one = problem(text)
    assert (one.span.line, one.span.column, one.found) == (line, column, found)


def test_a_repeated_key_is_told_with_the_line_of_the_first() -> None:
    one = problem("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n")
    assert (one.span.line, one.span.column, one.where) == (5, 3, "b.c")
    assert one.found == "a repeat of line 3"


def test_keys_that_differ_only_in_quotes_are_the_same_key() -> None:
    assert problem("1: a\n'1': b").found == "a repeat of line 1"


def test_a_sign_inside_a_text_is_no_anchor_alias_or_tag() -> None:
    text = "a: b & c\nd: x * y\ne: 'wow!'\nf: \"*x\"\ng: R&D!\n"
    assert data(text) == {"a": "b & c", "d": "x * y", "e": "wow!", "f": "*x", "g": "R&D!"}


def test_all_problems_of_a_file_are_told_together_in_the_order_of_the_file() -> None:
    found = problems("a: 1\na: 2\n<<: {}\n? [x]\n: 1\n")
    assert [one.span.line for one in found] == [2, 3, 4]


def test_aliases_that_would_grow_to_a_billion_texts_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    start = time.perf_counter()
    assert len(problems("\n".join(lines))) == 30 + 29 * 9
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize(
    "text",
    ["[" * 60 + "]" * 60, "- " * 60 + "x", "{a: " * 60 + "1" + "}" * 60, "[" * 5000,
     "{a: " * 3000, "- " * 5000 + "x", "[" * 900 + "]" * 900],
)  # fmt: skip
def test_deep_nesting_is_an_error_and_no_crash(text: str) -> None:
    one = problem(text)
    assert "40 levels" in one.expected or "depth" in one.found


def test_forty_levels_are_read() -> None:
    deep = data("[" * 40 + "x" + "]" * 40)
    for _ in range(40):
        [deep] = deep
    assert deep == "x"


@pytest.mark.parametrize(
    "text",
    ["a: [1, 2", "a: {b: 1", "a: 'x", "a: b: c", "a: @x", "a: `x`", "\ta: 1", "a: 1\n b: 2",
     "--- a\n--- b", "a: %x", "a: \x01", "a: \ud800", "a: \x7f\x00"],
)  # fmt: skip
def test_broken_yaml_is_a_problem_with_a_place(text: str) -> None:
    one = problem(text)
    assert one.span.file == "f.yaml"
    assert one.expected
    assert one.found
    assert 0 <= one.span.line <= text.count("\n") + 1


# ---- files --------------------------------------------------------------------------------------


def written(tmp_path: Path, raw: bytes) -> Path:
    path = tmp_path / "f.yaml"
    path.write_bytes(raw)
    return path


def read_problem(path: Path) -> Problem:
    with pytest.raises(InputError) as caught:
        yamlfile.read(path, "shown.yaml")
    [one] = caught.value.problems
    return one


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    plain = yamlfile.read(written(tmp_path, b"a: 1\nb:\n  c: x y\n"))
    windows = yamlfile.read(written(tmp_path, b"\xef\xbb\xbfa: 1\r\nb:\r\n  c: x y\r\n"))
    assert windows.data == plain.data
    assert windows.lines == plain.lines
    assert windows.value_spans == plain.value_spans
    assert windows.key_spans == plain.key_spans


def test_text_in_another_encoding_is_told_with_its_line(tmp_path: Path) -> None:
    one = read_problem(written(tmp_path, "a: 1\nb: größe\n".encode("latin-1")))
    assert str(one) == "shown.yaml:2:1: expected UTF-8 text, found byte 0xf6"


def test_a_file_that_is_missing_or_a_folder_is_told_by_its_shown_name(tmp_path: Path) -> None:
    assert str(read_problem(tmp_path / "none.yaml")).startswith("shown.yaml: expected a readable")
    assert str(read_problem(tmp_path)).startswith("shown.yaml: expected a readable file")


def test_a_file_of_more_than_8_mebibytes_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path, b"a: " + b"x" * (8 * 2**20))
    assert read_problem(path).expected == "at most 8 MiB of YAML"


# ---- places -------------------------------------------------------------------------------------

NESTED = """\
metrics:
  größe:
    formula: a + b
    words: [one, "two", 'three']
    empty:
"""


def cut(span: Span) -> str:
    return span.text[span.column - 1 : span.column - 1 + span.length]


def test_every_key_and_value_has_its_place() -> None:
    file = yamlfile.parse(NESTED, "f.yaml")
    assert cut(file.span(("metrics", "größe"), of_key=True)) == "größe"
    assert cut(file.span(("metrics", "größe", "formula"))) == "a + b"
    assert cut(file.span(("metrics", "größe", "formula"), of_key=True)) == "formula"
    words = [cut(file.span(("metrics", "größe", "words", i))) for i in range(3)]
    assert words == ["one", "two", "three"]


def test_a_path_that_does_not_exist_has_the_place_of_its_nearest_parent() -> None:
    file = yamlfile.parse(NESTED, "f.yaml")
    assert file.span(("metrics", "größe", "none", 3)) == file.span(("metrics", "größe"))
    assert yamlfile.parse("", "f.yaml").span(("a",)) == Span("f.yaml")


def test_a_problem_shows_the_line_and_marks_the_value() -> None:
    file = yamlfile.parse("a: 1\nlayers: [3, twelve]\n", "f.yaml")
    assert str(file.problem(("layers", 1), "a number", "'twelve'", "write 12")) == (
        "f.yaml:2:13: layers[1]: expected a number, found 'twelve'\n"
        "    2 | layers: [3, twelve]\n"
        "                    ^^^^^^\n"
        "  hint: write 12"
    )


def test_paths_are_written_with_dots_and_brackets() -> None:
    assert yamlfile.path_text(("metrics", "ttft", 2, "when")) == "metrics.ttft[2].when"
    assert yamlfile.path_text(()) == ""


# Scalars whose text needs no escape, plain or in quotes; astral signs count one column each.
words = st.text(st.sampled_from("abcxyz0189 .-_éßжλ漢字😀"), min_size=1, max_size=8).map(str.strip)
plain = words.filter(lambda w: w and w[0] not in "-.? " and not w.endswith(":"))
tree = st.recursive(
    plain | words.filter(bool).map(lambda w: f"'{w}'") | words.filter(bool).map(lambda w: f'"{w}"'),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain, inner, max_size=3),
    max_leaves=8,
)


def flow(node: Any) -> str:
    """A tree of written scalars as flow YAML on one line."""
    if isinstance(node, list):
        return "[" + ", ".join(map(flow, node)) + "]"
    if isinstance(node, dict):
        return "{" + ", ".join(f"{key}: {flow(value)}" for key, value in node.items()) + "}"
    return str(node)


def block(node: Any, indent: str = "") -> str:
    """The same tree as block YAML, a scalar a line."""
    if isinstance(node, list) and node:
        return "".join(f"\n{indent}-{_inner(child, indent)}" for child in node)
    if isinstance(node, dict) and node:
        return "".join(f"\n{indent}{key}:{_inner(value, indent)}" for key, value in node.items())
    return " " + flow(node)


def _inner(node: Any, indent: str) -> str:
    return block(node, indent + "  ")


def meant(node: Any) -> Any:
    """The data that a tree of written scalars stands for."""
    if isinstance(node, list):
        return [meant(child) for child in node]
    if isinstance(node, dict):
        return {key: meant(value) for key, value in node.items()}
    return node[1:-1] if node[0] in "'\"" else yamlfile.scalar(node)


def leaves(node: Any, key: yamlfile.Key = ()) -> list[tuple[yamlfile.Key, str]]:
    if isinstance(node, list):
        return [leaf for i, child in enumerate(node) for leaf in leaves(child, (*key, i))]
    if isinstance(node, dict):
        return [leaf for name, child in node.items() for leaf in leaves(child, (*key, name))]
    return [(key, node.strip("'\""))]


def check_places(file: YamlFile, node: Any) -> None:
    assert file.data == meant(node)
    for key, text in leaves(node):
        assert cut(file.value_spans[key]) == text
    for key, span in file.key_spans.items():
        assert cut(span) == key[-1]


@settings(derandomize=True, max_examples=200)
@given(st.dictionaries(plain, tree, min_size=1, max_size=4))
def test_the_text_at_a_place_is_the_value_of_that_place(node: dict[str, Any]) -> None:
    check_places(yamlfile.parse(flow(node), "f.yaml"), node)
    check_places(yamlfile.parse("# head\n" + block(node).lstrip("\n"), "f.yaml"), node)


@settings(derandomize=True, max_examples=300)
@given(st.text(st.sampled_from("ab1: -[]{},'\"&*!|>#%@`\n\t\\?~=<é😀"), max_size=30))
def test_no_text_does_anything_but_give_data_or_problems(text: str) -> None:
    try:
        file = yamlfile.parse(text, "f.yaml")
    except InputError as error:
        assert all(one.expected and one.found for one in error.problems)
        str(error)
    else:
        assert file.name == "f.yaml"
