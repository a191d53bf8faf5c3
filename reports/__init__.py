"""Emitters: a view becomes text, a page, charts or a workbook. Nothing here computes figures."""
