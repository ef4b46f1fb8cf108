"""Alerts about findings: selection, repetition and formats."""
