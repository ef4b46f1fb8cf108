"""What of columns was renamed or dropped: from the log and from footers."""
