"""Helpers for the tests: outside tools, recalculation, a browser, the folder beside the clone."""
