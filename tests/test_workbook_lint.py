"""Rules that hold for every formula, name, rule and part of the shipped workbooks."""

from __future__ import annotations

import re
from collections import defaultdict
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
from support import formula_lint as lint
from support.workbook import FIRST, MAIN, SHIPPED, Made, edited, engine_value, places, shipped
from support.xlsx import is_error, position

FRONT = {"Cover", "Summary", "Checks"}  # made cell by cell; all other sheets are tables
LONGEST, LONG, IF_LEVELS = 250, 150, 2
# Figures whose formulas are longer than a line: the key of a case, a reduction over the rungs of a
# ladder (it names each rung's cell), texts that name what differs between cases, and sums of
# components on sheets with long names.
LONG_FIGURES = 18
# Ladders of sizes and widths repeat columns on sheets with longer names than the cutter reckons
# with, and name each rung's cell in headings and reductions.
LONG_FIGURES_OF_LADDERS = 11


@pytest.fixture(params=SHIPPED)
def made(request: pytest.FixtureRequest) -> Made:
    return shipped(request.param)


# ---- formulas ----------------------------------------------------------------------------------


def test_formulas_are_plain(made: Made) -> None:
    """Listed functions of Excel 2007, A1 references, no arrays, no other file, no '@'."""
    assert lint.each(made.formulas, lambda text: list(lint.breaches(text))) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("XLOOKUP(A1,B1:B2,C1:C2)", "XLOOKUP"),
        ("NOW()-A1", "NOW"),
        ("OFFSET(A1,1,0)", "OFFSET"),
        ("_xlfn.LET(x,1,x)", "LET"),
        ("SUM(Plan[gpus])", "a table"),
        ("'[other.xlsx]Plan'!A1", "no A1 reference"),
        ("@A1:A9", "@"),
        ("A1:A9*2", "where one cell"),
        ("IF(A1:A9,1,0)", "where one cell"),
        ("SUM(A:A)", "no A1 reference"),
        ("in_overhead*2", "no A1 reference"),
        ("{1,2}*A1", "array"),
        ("IF(A1=#N/A,0,1)", "an error"),
    ],
)
def test_the_lint_sees(text: str, what: str) -> None:
    assert any(what in line for line in lint.breaches(text))


def test_the_lint_passes_what_is_right() -> None:
    assert (
        list(lint.breaches("IF(ISERROR('A @ sheet'!B8),\"mail@x [1] {2} #\",SUM(B8:C8)*2)")) == []
    )


def test_formulas_have_no_numbers_of_their_own(made: Made) -> None:
    """Only 0, 1 and 2; the guard of floor and ceil; and the offset of a layer-group slot."""
    formulas = {
        place: re.sub(r"\+[345]\)$", ")", text) if place[0] == "Group workings" else text
        for place, text in made.formulas.items()
    }
    lines = lint.each(formulas, lambda text: [n for n in lint.literals(text) if n != lint.GUARD])
    assert lines == []


def test_slot_offsets_stand_only_in_look_ups(made: Made) -> None:
    """The offsets that the test above forgives belong to INDEX formulas, one for each slot."""
    offsets = [text for (sheet, _), text in made.formulas.items()
               if sheet == "Group workings" and re.search(r"\+[345]\)$", text)]  # fmt: skip
    assert offsets
    assert all(re.fullmatch(r"INDEX\([^,]+,INDEX\([^,]+,[^,]+\)\+[345]\)", t) for t in offsets)


def test_formulas_are_short(made: Made) -> None:
    long: dict[str, int] = {}
    for place, text in made.formulas.items():
        if len(text) > LONG:
            figure = made.heading_of(place) or place[0]  # once, on however many sheets it stands
            long[figure] = max(long.get(figure, 0), len(text))
    assert max(long.values()) <= LONGEST, long
    more = LONG_FIGURES_OF_LADDERS if "answers" in made.plan.metrics.tables else 0
    assert len(long) <= LONG_FIGURES + more, long


def test_ifs_are_shallow_unless_they_are_a_choice(made: Made) -> None:
    """Deeper only where the declared formula is itself a choice between words, dtypes or known
    figures, or a power, whose cell form must keep 0^0 and roots apart."""
    nested = re.compile(r"\b(select|argmin|argmax|first_known|max_over)\(|\*\*| else \(")
    metrics = made.plan.metrics.metrics.values()
    choices = {m.label for m in metrics if m.entry.choices or nested.search(m.text)}
    lines = []
    for (sheet, _), (address, text) in lint.forms(made.formulas).items():
        heading = made.heading_of((sheet, address))
        if lint.if_depth(text) > IF_LEVELS and sheet != "Checks" and heading not in choices:
            lines.append(f"{sheet}!{address} {heading}: {text}")
    assert lines == []


def test_a_column_has_one_formula(made: Made) -> None:
    """One relative form a column; one for each rung on the sheets of ladder workings."""
    blocks = {
        f"{entry.label} workings": len(made.plan.columns.variant_values[name])
        for name, entry in made.plan.metrics.variants.items()
    }
    columns: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for (sheet, address), text in made.formulas.items():
        row, letters = position(address)[0], re.sub(r"\d", "", address)
        if sheet not in FRONT and row >= FIRST:
            columns[sheet, letters].append((row, lint.relative(text, address)))
    assert len(columns) > 400
    count = len(made.plan.cases)
    for (sheet, letters), cells in columns.items():
        rows = [row for row, _ in sorted(cells)]
        assert rows == list(range(FIRST, FIRST + len(rows))), f"{sheet}!{letters} has holes"
        if sheet in blocks:
            assert len(rows) == count * blocks[sheet]
        for start in range(0, len(rows), count if sheet in blocks else len(rows)):
            end = start + (count if sheet in blocks else len(rows))
            block = {form for row, form in cells if start <= row - FIRST < end}
            assert len(block) == 1, f"{sheet}!{letters}: {sorted(block)[:3]}"


def test_a_typed_number_in_a_calculated_column_is_seen() -> None:
    """The mutant of the test above: one number typed over one formula."""
    made = shipped()
    letters = made.headings("Access")["Decode steps"]
    wrong = Made(made.plan, edited(made, {("Access", f"{letters}12"): 1.0}))
    with pytest.raises(AssertionError, match="has holes"):
        test_a_column_has_one_formula(wrong)


# ---- values ------------------------------------------------------------------------------------


def test_types_of_cells_fit_their_values(made: Made) -> None:
    """No ``t`` at numbers, ``str`` at text, ``b`` at flags, ``e`` at errors; no empty value."""
    kinds = {"": float, "str": str, "b": bool, "e": str}
    seen = set()
    for sheet, cell in raw_cells(made):
        if cell.find(f"{MAIN}f") is None:
            continue
        kind, stored = cell.attrib.get("t", ""), cell.find(f"{MAIN}v")
        place = sheet, cell.attrib["r"]
        assert kind in kinds and stored is not None and stored.text, place
        value = made.values[place]
        assert type(value) is kinds[kind] and (kind == "e") == is_error(value), place
        assert kind != "" or re.fullmatch(r"-?\d+(\.\d+)?(e[-+]?\d+)?", stored.text.lower()), place
        assert not cell.attrib.keys() & {"cm", "vm"}, place
        seen.add(kind)
    assert seen >= {"", "str", "b"}


def test_errors_stand_only_where_a_figure_is_unknown(made: Made) -> None:
    """An error of a declared metric means that the engine says unknown; elsewhere facts are."""
    declared = {}
    for metric, rows in places(made).items():
        for case, row in enumerate(rows):
            for slot, place in enumerate(row):
                declared[place] = engine_value(made.plan, metric, case, slot)
    variants = {entry.label for entry in made.plan.metrics.variants.values()}
    facts = {e.label for e in made.plan.metrics.fields.values()}
    for place, value in made.stored.items():
        if not is_error(value):
            continue
        assert value == "#N/A", place
        if place in declared:
            assert declared[place] is None, place
        else:
            heading = made.heading_of(place)
            part = f"Part of {heading}" in made.headings(place[0])
            workings = place[0] in variants or place[0].endswith("workings")
            typed = made.values.get((place[0], f"C{place[1].lstrip('N')}"))
            taken = heading == "As formulas take it" and typed == "unknown"
            assert heading in facts or part or workings or taken, place
    assert not [p for p, v in made.stored.items() if p[0] in ("Results", *FRONT) and is_error(v)]


def raw_cells(made: Made) -> list[tuple[str, ElementTree.Element]]:
    with ZipFile(made.path) as archive:
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        names = [node.attrib["name"] for node in book.iter(f"{MAIN}sheet")]
        return [
            (name, cell)
            for number, name in enumerate(names, 1)
            for cell in ElementTree.fromstring(archive.read(_part(archive, number))).iter(
                f"{MAIN}c"
            )
        ]


def _part(archive: ZipFile, number: int) -> str:
    return f"xl/worksheets/sheet{number}.xml"


# ---- names, sheets, rules ----------------------------------------------------------------------


def test_defined_names_are_legal_cells(made: Made) -> None:
    assert made.names
    for name, target in made.names.items():
        assert re.fullmatch(r"(in|chk)_[a-z0-9_]+", name), name
        sheet, ref = made.named(name)
        assert (sheet, ref) in made.values, f"{name} = {target} is empty or no cell"
    assert len(set(made.names.values())) == len(made.names)
    inputs = {f"in_{name}" for name in made.plan.inputs.plan}
    rungs = set()
    for name, values in made.plan.inputs.ladders.items():
        replaces = made.plan.metrics.variants[name].replaces
        ends = [f"_{one}" for one in replaces] if len(replaces) > 1 else [""]
        rungs |= {f"in_{name}_{k}{e}" for k in range(1, len(values) + 1) for e in ends}
    assert made.names.keys() >= inputs | rungs | {"chk_all"}


def test_sheet_names_are_legal_and_fixed(made: Made) -> None:
    with ZipFile(made.path) as archive:
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    sheets = list(book.iter(f"{MAIN}sheet"))
    names = [node.attrib["name"] for node in sheets]
    for name in names:
        assert 1 <= len(name) <= 31 and not set(name) & set("[]:*?/\\'"), name
        assert name.strip() == name and name.lower() != "history"
    assert len({name.lower() for name in names}) == len(names)
    assert names[:3] == ["Cover", "Summary", "Results"]
    assert {node.attrib.get("state", "visible") for node in sheets} == {"visible"}


def parts(made: Made) -> dict[str, bytes]:
    with ZipFile(made.path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sheet_roots(made: Made) -> list[ElementTree.Element]:
    return [
        ElementTree.fromstring(data)
        for name, data in parts(made).items()
        if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", name)
    ]


def test_validations_are_short_and_understood(made: Made) -> None:
    found = [v for root in sheet_roots(made) for v in root.iter(f"{MAIN}dataValidation")]
    assert len(found) > 10
    titles = {node.text for node in found}
    assert titles
    for node in found:
        assert len(node.attrib.get("errorTitle", "")) <= 32
        assert len(node.attrib.get("error", "")) <= 255
        for formula in (node.find(f"{MAIN}formula1"), node.find(f"{MAIN}formula2")):
            if formula is None or not formula.text:
                continue
            assert len(formula.text) < 255
            if node.attrib["type"] == "list" and not formula.text.startswith('"'):
                assert re.fullmatch(r"('[^']+'|\w+)!\$[A-Z]+\$\d+:\$[A-Z]+\$\d+", formula.text), (
                    formula.text
                )


def test_drop_downs_offer_every_entry_of_the_catalog(made: Made) -> None:
    """The four choices of a case refer to the Id columns of the catalog sheets."""
    cases = next(r for r in sheet_roots(made) if len(list(r.iter(f"{MAIN}dataValidation"))) > 8)
    sources = [v.findtext(f"{MAIN}formula1") or "" for v in cases.iter(f"{MAIN}dataValidation")]
    for sheet in ("Models", "GPUs", "'Weight formats'", "'KV formats'"):
        source = next(s for s in sources if s.startswith(f"{sheet}!$A${FIRST}:"))
        last = int(source.rpartition("$")[2])
        assert (sheet.strip("'"), f"A{last}") in made.values
        assert (sheet.strip("'"), f"A{last + 1}") not in made.values


def test_rules_of_looks_are_plain_formulas(made: Made) -> None:
    found = [f.text or "" for root in sheet_roots(made) for f in root.iter(f"{MAIN}formula")]
    assert len(found) > 10
    assert [line for text in found for line in lint.breaches(text)] == []


def test_nothing_runs_and_nothing_leads_outside(made: Made) -> None:
    """No macro, no other file, no chain of calculation; links lead to cells of the book."""
    found = parts(made)
    forbidden = ("vba", "externallink", "calcchain", "connections", "activex", "metadata.xml",
                 "printersettings", "ctrlprops", "embeddings", "querytable")  # fmt: skip
    assert [name for name in found if any(word in name.lower() for word in forbidden)] == []
    relations = [
        node.attrib
        for name, data in found.items()
        if name.endswith(".rels")
        for node in ElementTree.fromstring(data)
    ]
    assert [r for r in relations if r.get("TargetMode") == "External"] == []
    links = [link.attrib for root in sheet_roots(made) for link in root.iter(f"{MAIN}hyperlink")]
    assert links
    for link in links:
        assert not any(key.endswith("}id") for key in link), link
        sheet, _, ref = link["location"].lstrip("#").rpartition("!")
        assert (sheet.strip("'"), ref) in made.values, link
    assert b"<f t=" not in b"".join(found[n] for n in found if n.startswith("xl/worksheets/"))
