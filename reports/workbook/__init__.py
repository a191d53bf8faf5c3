"""Workbooks: books built with openpyxl, table bodies and zip parts by modules of our own."""
