"""Formats of an alert: text, Markdown, HTML, Slack blocks. Pure functions of the alert."""
