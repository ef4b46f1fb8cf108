"""Telling people about findings: what is told, when it is told again, and how it is written."""
