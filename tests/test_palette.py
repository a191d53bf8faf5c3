"""The table of colours: readable on its surfaces, and the only place that names a colour."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import get_args

import pytest

from reports import palette

ROOT = Path(__file__).resolve().parent.parent
MODES = get_args(palette.Mode)
TEXT, GRAPHIC = 4.5, 3.0
NAMES_A_COLOUR = re.compile(r"#[0-9A-Fa-f]{6}\b|\bFF[0-9A-F]{6}\b|\b(?:rgba?|hsla?)\(")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("role", palette.TEXT_ON)
def test_text_roles_are_readable(role, mode):
    for surface in palette.TEXT_ON[role]:
        ratio = palette.contrast(palette.colour(role, mode), palette.colour(surface, mode))
        assert ratio >= TEXT, f"{role} on {surface}, {mode}: {ratio:.2f}"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("surface", ["page", "surface"])
def test_series_edges_stand_out(surface, mode):
    for number, entry in enumerate(palette.SERIES, 1):
        ratio = palette.contrast(entry.edge.value(mode), palette.colour(surface, mode))
        assert ratio >= GRAPHIC, f"series {number} on {surface}, {mode}: {ratio:.2f}"


def test_an_edge_differs_from_its_fill_only_where_the_fill_is_too_faint():
    for entry in palette.SERIES:
        for mode in MODES:
            if entry.edge.value(mode) != entry.fill.value(mode):
                faint = min(
                    palette.contrast(entry.fill.value(mode), palette.colour(name, mode))
                    for name in ("page", "surface")
                )
                assert faint < GRAPHIC


def test_text_inside_a_filled_area_is_readable():
    for entry in palette.SERIES:
        fill = entry.fill.light
        assert entry.fill.dark == fill
        assert palette.contrast(palette.text_on(fill), fill) >= TEXT


def test_every_text_role_and_surface_is_in_the_table():
    for role, surfaces in palette.TEXT_ON.items():
        assert {role, *surfaces} <= palette.ROLES.keys()
    assert palette.TERMINAL.keys() <= palette.ROLES.keys()


def test_colours_are_six_digits_and_series_are_distinct():
    every = [*palette.ROLES.values(), *(e for s in palette.SERIES for e in (s.fill, s.edge))]
    for entry in every:
        for mode in MODES:
            assert re.fullmatch(r"#[0-9A-F]{6}", entry.value(mode))
    for mode in MODES:
        for one, two in combinations(palette.SERIES, 2):
            assert one.fill.value(mode) != two.fill.value(mode)
            assert one.edge.value(mode) != two.edge.value(mode)


def test_contrast_has_the_known_ends():
    assert palette.contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert palette.contrast("#FFFFFF", "#000000") == pytest.approx(21)
    assert palette.contrast("#777777", "#777777") == 1
    # 4.48:1 is the value commonly quoted for this grey on white.
    assert palette.contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.005)


def test_css_has_both_modes_and_dark_never_prints():
    css = palette.css_variables()
    for name in [*palette.ROLES, "series-1", "edge-8"]:
        assert css.count(f"--{name}:") == 2
    assert "@media screen and (prefers-color-scheme:dark)" in css
    assert css.index("--ink:" + palette.colour("ink")) < css.index("prefers-color-scheme")


def test_spreadsheet_form_and_wrap_around():
    assert palette.argb("ink") == "FF" + palette.colour("ink").removeprefix("#")
    assert palette.series(len(palette.SERIES)) == palette.SERIES[0]
    with pytest.raises(KeyError):
        palette.colour("purple")


def test_no_other_file_names_a_colour():
    found = []
    for folder in ("planner", "reports", "templates"):
        for path in sorted((ROOT / folder).rglob("*")):
            kinds = {".py", ".css", ".js", ".html", ".j2", ".svg"}
            if path.suffix not in kinds or path == ROOT / "reports" / "palette.py":
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if NAMES_A_COLOUR.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("mode", MODES)
def test_figures_stay_readable_on_every_shade_of_a_heat_table(mode):
    style = (ROOT / "templates" / "report.css").read_text("utf-8")
    shares = re.findall(
        r"\.heat \.h\d\{background:color-mix\(in srgb,var\(--edge-1\) (\d+)%", style
    )
    assert len(shares) == 6
    edge, page = palette.VARIABLES["edge-1"].value(mode), palette.colour("page", mode)
    for share in map(int, shares):
        pairs = [(int(edge[i : i + 2], 16), int(page[i : i + 2], 16)) for i in (1, 3, 5)]
        mixed = "".join(f"{round((a * share + b * (100 - share)) / 100):02X}" for a, b in pairs)
        assert palette.contrast(palette.colour("ink", mode), f"#{mixed}") >= TEXT, share
