"""An alert, written for those who read it: text, Markdown, HTML, Slack blocks. Pure functions of the alert."""
