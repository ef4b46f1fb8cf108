"""Jobs about column mapping: whether columns were renamed or dropped, and disabling it."""
