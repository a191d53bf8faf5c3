"""Readers of published model configurations and engine logs."""
