"""All work on workbook files under one roof; see the modules for the parts of it.

``package_zip`` is the container, ``package_parts`` the parts and their relations, ``package_book``
what concerns the whole book, ``package_cells`` changes inside a sheet, ``package_read`` the reader.
"""

from __future__ import annotations

from reports.workbook.package_book import (
    drop_calc_chain,
    embed,
    extract,
    set_core,
    set_full_calc,
)
from reports.workbook.package_cells import (
    cell_styles,
    fill_values,
    insert_rows_xml,
    splice,
    strip_values,
)
from reports.workbook.package_parts import (
    Package,
    Relation,
    relate,
    relations,
    set_content_type,
    sheet_parts,
    workbook_part,
)
from reports.workbook.package_read import Cell, CellKind, cells, shifted
from reports.workbook.package_zip import LEVEL, PackageError

__all__ = [
    "LEVEL",
    "Cell",
    "CellKind",
    "Package",
    "PackageError",
    "Relation",
    "cell_styles",
    "cells",
    "drop_calc_chain",
    "embed",
    "extract",
    "fill_values",
    "insert_rows_xml",
    "relate",
    "relations",
    "set_content_type",
    "set_core",
    "set_full_calc",
    "sheet_parts",
    "shifted",
    "splice",
    "strip_values",
    "workbook_part",
]
