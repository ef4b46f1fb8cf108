"""Alerts about findings: what is reported, when it is reported again, and how it is written."""
