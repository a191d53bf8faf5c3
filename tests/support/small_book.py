"""A small workbook with a formula of each type, for tests of the package module."""

import io

import openpyxl

from reports.workbook.package import Package

SHEET = "xl/worksheets/sheet1.xml"
BOOK = "xl/workbook.xml"


def small_book():
    """A sheet with inputs, a formula of each type, a styled model row, and a sheet beside it."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Plan & more"
    for row in (("name", "value"), ("a", 2), ("b", 3), ("sum", "=SUM(B2:B3)"), ("ok", "=B4=5")):
        sheet.append(row)
    sheet["C4"] = '="x"&A2'
    for column in (1, 2):
        sheet.cell(9, column).number_format = "0.00"
    sheet.cell(9, 3).font = openpyxl.styles.Font(bold=True)
    book.create_sheet("Other")["A1"] = "=1/0"
    buffer = io.BytesIO()
    book.save(buffer)
    return Package.read(buffer.getvalue())


VALUES = {"B4": 5.0, "B5": True, "C4": "x<a>"}
