"""Formulas are checked before they run: names, kinds, units, whole numbers, grains, choices."""

from __future__ import annotations

import pytest

from planner.expr.check import (
    CASE,
    GROUP,
    PLAN,
    STAGE,
    STAGE_GROUP,
    Checker,
    Type,
    whole_number,
)
from planner.expr.parse import FormulaError, parse
from planner.expr.to_math import to_text
from planner.expr.tree import Text, walk
from planner.units import dimension_text, parse_unit

WORDS = ("memory", "reads", "compute")


def number(unit: str, grain: int = CASE) -> Type:
    return Type("number", parse_unit(unit).dimension, grain=grain)


SCOPE = {
    "weights": number("byte"),
    "width": number("byte/token"),
    "share": number("1"),
    "tokens": whole_number("token"),
    "block": whole_number("token/block"),
    "bytes": whole_number("byte"),
    "layers": whole_number("1"),
    "rate": number("1/s", PLAN),
    "fits": Type("flag", grain=CASE),
    "limit": Type("choice", words=WORDS, grain=CASE),
    "basis": Type("choice", words=("device", "marketed"), grain=CASE),
    "group_width": number("byte/token", GROUP),
    "group_layers": whole_number("1", GROUP),
    "group_windowed": Type("flag", grain=GROUP),
    "stage_layers": whole_number("1", STAGE),
    "group_kind": Type("choice", words=WORDS, grain=GROUP),
}
CHECKER = Checker(SCOPE, {"ladder": SCOPE["tokens"]})


def found(text: str, words: tuple[str, ...] = ()) -> Type:
    return CHECKER.check(parse(text), words)[1]


def refused(text: str, words: tuple[str, ...] = ()) -> FormulaError:
    with pytest.raises(FormulaError) as caught:
        found(text, words)
    return caught.value


# ---- names --------------------------------------------------------------------------------------


def test_an_unknown_name_is_told_with_the_nearest_one() -> None:
    error = refused("2 * weigths")
    assert (error.at, error.length, error.found) == (4, 7, "'weigths'")
    assert error.hint == "did you mean 'weights'?"


# ---- units --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("width * tokens", "byte"),
        ("weights / width", "token"),
        ("weights + 0", "byte"),
        ("0 + weights", "byte"),
        ("max(0, weights)", "byte"),
        ("weights if fits else 0", "byte"),
        ("weights if fits else unknown()", "byte"),
        ("first_known(weights, 0)", "byte"),
        ("weights ** 2", "byte^2"),
        ("sqrt(weights * weights)", "byte"),
        ("weights * 0", "byte"),
        ("exp(share)", "1"),
        ("ln(weights / bytes)", "1"),
        ("floor(weights)", "byte"),
        ("whole_down(weights * share)", "byte"),
        ("floordiv(tokens, block)", "block"),
        ("ceildiv(tokens, block)", "block"),
        ("round_up_to(tokens, tokens)", "token"),
        ("share ** share", "1"),
        ("q(2, 'byte/token') * tokens", "byte"),
        ("weights * rate", "byte/s"),
        ("-weights", "byte"),
        ("abs(width)", "byte/token"),
    ],
)
def test_units_combine(text: str, unit: str) -> None:
    assert dimension_text(found(text).dimension) == unit


@pytest.mark.parametrize(
    ("text", "at", "expected", "unit", "hint"),
    [
        ("weights + width", 10, "byte", "byte/token", "a factor of 1/token"),
        ("weights + tokens", 10, "byte", "token", "a factor of token/byte"),
        ("weights + 1", 10, "byte", "1", "a factor of 1/byte"),
        ("weights < width", 10, "byte", "byte/token", "a factor of 1/token"),
        ("tokens == layers", 10, "token", "1", "a factor of 1/token"),
        ("min(weights, 0, width)", 16, "byte", "byte/token", "a factor of 1/token"),
        ("weights if fits else width", 21, "byte", "byte/token", "a factor of 1/token"),
        ("first_known(weights, width)", 21, "byte", "byte/token", "a factor of 1/token"),
        ("divides(layers, tokens)", 16, "1", "token", "a factor of token"),
        ("round_up_to(tokens, layers)", 20, "token", "1", "a factor of 1/token"),
    ],
)
def test_unlike_units_are_refused_with_the_factor_between_them(
    text: str, at: int, expected: str, unit: str, hint: str
) -> None:
    error = refused(text)
    assert (error.at, error.found) == (at, unit)
    assert error.expected.startswith(f"{expected} as in the first part of ")
    assert error.hint.endswith(hint)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exp(weights)", "a number without unit in exp"),
        ("ln(tokens)", "a number without unit in ln"),
        ("share ** tokens", "an exponent without unit"),
        ("weights ** layers", "a literal exponent for a base with a unit"),
        ("sqrt(weights)", "a square unit under the root"),
    ],
)
def test_powers_and_logarithms_take_plain_numbers(text: str, expected: str) -> None:
    assert refused(text).expected == expected


@pytest.mark.parametrize("text", ["3", "0.5 * share", "weights / 1024", "q(3, 'byte')"])
def test_a_literal_other_than_0_1_2_wants_a_name_and_a_reason(text: str) -> None:
    error = refused(text)
    assert error.expected == "the literals 0, 1 and 2 only"
    assert "named constant" in error.hint


def test_a_quantity_in_a_formula_is_in_base_units_since_formulas_do_not_convert() -> None:
    # 2 GB would be 2 bytes to every form: the factor of a unit is applied where values are read.
    error = refused("weights + q(2, 'GB')")
    assert (error.at, error.expected, error.found) == (10, "the base unit byte", "'GB'")
    assert refused("q(1, 'gigs')").expected == "a known unit"


# ---- kinds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "at", "expected"),
    [
        ("fits + fits", 0, "a number in +"),
        ("weights + fits", 10, "a number in +"),
        ("fits and share", 9, "a flag in and"),
        ("not share", 4, "a flag in not"),
        ("weights if share else 0", 11, "a flag in if"),
        ("fits < fits", 0, "a number in <"),
        ("limit < limit", 0, "a number in <"),
        ("known(fits)", 6, "a number in known"),
        ("first_known(fits, fits)", 12, "a number in first_known"),
        ("fits if fits else 0", 18, "a flag as in the other branch"),
        ("count_of(group_width)", 9, "a flag in count_of"),
        ("all_of(group_width)", 7, "a flag in all_of"),
        ("sum_of(group_windowed)", 7, "a number in sum_of"),
        ("max_of(group_kind)", 7, "a number in max_of"),
        ("max_over(ladder, fits)", 17, "a number in max_over"),
        ("any_over(ladder, tokens)", 17, "a flag in any_over"),
    ],
)
def test_numbers_flags_and_choices_are_kept_apart(text: str, at: int, expected: str) -> None:
    error = refused(text)
    assert (error.at, error.expected) == (at, expected)


def test_no_value_fits_every_kind() -> None:
    assert found("fits if fits else unknown()").kind == "flag"
    assert found("unknown() if fits else limit").words == WORDS
    assert found("tokens if fits else unknown()").whole


# ---- whole numbers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "tokens", "tokens + tokens", "tokens * layers", "tokens - 1 * tokens", "-layers",
        "min(tokens, 0)", "max_of(group_layers)", "sum_of(group_layers)", "abs(tokens)",
        "layers ** 2", "floor(weights)", "ceil(weights)", "whole_up(weights)",
        "floordiv(tokens, block)", "ceildiv(tokens, block)", "round_up_to(tokens, tokens)",
        "count_of(group_windowed)", "tokens if fits else 0", "first_known(tokens, 0)", "2",
        "unknown()",
    ],
)  # fmt: skip
def test_whole_numbers_stay_whole(text: str) -> None:
    assert found(text).whole


@pytest.mark.parametrize(
    "text",
    [
        "weights", "layers / layers", "tokens * share", "min(tokens, tokens * share)",
        "layers ** (-1)", "layers ** layers", "sqrt(layers)", "tokens if fits else tokens * share",
        "sum_of(group_width)",
    ],
)  # fmt: skip
def test_quotients_and_fractions_are_not_whole(text: str) -> None:
    assert not found(text).whole


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("floordiv(weights, tokens)", 9),
        ("ceildiv(tokens, share)", 16),
        ("divides(layers / layers, layers)", 8),
        ("round_up_to(tokens, tokens * share)", 20),
    ],
)
def test_integer_functions_take_whole_numbers_only(text: str, at: int) -> None:
    error = refused(text)
    assert error.at == at
    assert error.expected.startswith("a whole number in ")
    assert "whole_down" in error.hint


def test_computed_fractions_are_never_compared_for_equality() -> None:
    assert found("layers == 0").kind == "flag"
    assert found("fits == fits").kind == "flag"
    error = refused("layers == share")
    assert error.found == "a computed fraction"
    assert "<=" in error.hint


# ---- grains -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "grain"),
    [
        ("rate", PLAN),
        ("rate * share", CASE),
        ("group_width * tokens", GROUP),
        ("group_width * rate", GROUP),
        ("fits and group_windowed", GROUP),
        ("sum_of(group_width)", CASE),
        ("sum_of(group_width * tokens)", CASE),
        ("sum_of(weights)", PLAN),
        ("sum_of(sum_of(group_width))", PLAN),
        ("first_of(group_kind)", CASE),
        ("all_of(group_width > 0)", CASE),
        ("count_of(fits)", PLAN),
        ("max_over(ladder, tokens if fits else 0)", CASE),
        ("stage_layers * tokens", STAGE),
        ("stage_layers * group_layers", STAGE_GROUP),
        ("sum_of(stage_layers * group_layers)", STAGE),
        ("max_of(sum_of(stage_layers * group_layers))", CASE),
        ("max_of(stage_layers)", CASE),
        ("stage_layers * sum_of(group_layers)", STAGE),
        ("weights * sum_of(group_width)", CASE),
    ],
)
def test_a_formula_has_the_finest_grain_of_its_parts_and_reductions_go_one_up(
    text: str, grain: int
) -> None:
    assert found(text).grain == grain


def test_a_plan_value_cannot_be_reduced() -> None:
    error = refused("sum_of(rate)")
    assert (error.at, error.found) == (7, "one value for the whole plan")


def test_variants_are_of_cases_and_not_of_layer_groups() -> None:
    for finer in ("group_layers", "stage_layers", "stage_layers * group_layers"):
        error = refused(f"max_over(ladder, {finer})")
        assert (error.at, error.expected) == (17, "a value per case")


def test_a_reduction_over_variants_names_a_declared_set() -> None:
    error = refused("max_over(tokens, tokens)")
    assert (error.at, error.expected) == (9, "the name of a set of variants")
    assert error.hint == "declared are: ladder"


def test_a_checked_tree_can_be_checked_again() -> None:
    tree, kind = CHECKER.check(parse("max_over(ladder, tokens if limit == 'memory' else 0)"))
    assert CHECKER.check(tree) == (tree, kind)


# ---- choices ------------------------------------------------------------------------------------


def test_a_word_stands_beside_a_choice_only() -> None:
    assert found("limit == 'memory'").kind == "flag"
    assert found("'memory' == limit").kind == "flag"
    assert found("limit != limit").kind == "flag"
    assert refused("weights + 'memory'").found == "the word 'memory'"
    assert refused("'memory' == 'memory'").found == "the word 'memory'"


def test_a_word_outside_the_choice_is_told_with_the_nearest_one() -> None:
    error = refused("limit == 'memroy'")
    assert (error.at, error.length) == (9, 8)
    assert error.expected == "one of memory, reads, compute"
    assert error.hint == "did you mean 'memory'?"


def test_two_choices_are_compared_only_when_they_have_the_same_words() -> None:
    assert refused("limit == basis").at == 9


def test_a_metric_may_give_the_words_that_it_declares() -> None:
    assert found("'memory' if fits else 'reads'", WORDS).words == WORDS
    assert found("limit", WORDS).words == WORDS
    assert refused("'memory' if fits else basis", WORDS).at == 22
    assert refused("'memory' if fits else 'reads'").found == "the word 'memory'"


def test_select_gives_a_value_for_every_word_of_the_choice() -> None:
    tree, kind = CHECKER.check(parse("select(limit, 'memory', 0, 'reads', 1, 'compute', share)"))
    assert not kind.whole
    assert to_text(tree) == "0 if limit = memory else (1 if limit = reads else share)"
    words = [n for n in walk(tree) if isinstance(n, Text)]
    assert {n.words for n in words} == {WORDS}


@pytest.mark.parametrize(
    ("text", "at", "reason"),
    [
        ("select(limit, 'memory', 0, 'reads', 1)", 0, "none for compute"),
        ("select(limit, 'memory', 0, 'reads', 1, 'compute', 2, 'luck', 0)", 53, "'luck'"),
        ("select(limit, 'memory', 0, 'memory', 1, 'reads', 1, 'compute', 2)", 27, "again"),
        ("select(limit, 'memory', 0, 'reads')", 0, "a word without its value"),
        ("select(limit, 0, 'memory', 1, 'reads')", 14, "another expression"),
        ("select(fits, 'memory', 0, 'reads', 1)", 7, "a flag"),
        ("select(limit, 'memory', 0, 'reads', 1, 'compute', tokens + share)", 59, "1"),
    ],
)
def test_an_incomplete_select_is_refused(text: str, at: int, reason: str) -> None:
    error = refused(text)
    assert reason in error.found
    assert error.at == at


def test_argmin_is_written_out_so_that_ties_go_to_the_first_declared_word() -> None:
    text = "argmin('memory', share, 'reads', layers, 'compute', 0)"
    tree, kind = CHECKER.check(parse(text), WORDS)
    assert kind.words == WORDS
    assert to_text(tree) == (
        "memory if share ≤ layers and share ≤ 0 else (reads if layers ≤ 0 else compute)"
    )
    tree, _ = CHECKER.check(parse("argmax('memory', share, 'compute', layers)"), WORDS)
    assert to_text(tree) == "memory if share ≥ layers else compute"


@pytest.mark.parametrize(
    "text",
    [
        "argmin('reads', share, 'memory', layers)",
        "argmin('memory', share, 'memory', layers)",
        "argmin('memory', share, 'luck', layers)",
    ],
)
def test_argmin_takes_declared_words_in_their_order_and_once(text: str) -> None:
    error = refused(text, WORDS)
    assert error.expected == "the words in their declared order"
    assert "memory, reads, compute" in error.hint


# ---- functions that are rewritten ---------------------------------------------------------------


def test_first_known_of_many_becomes_pairs() -> None:
    tree, _ = CHECKER.check(parse("first_known(weights, bytes, 0)"))
    assert to_text(tree) == "first_known(weights, first_known(bytes, 0))"
