"""Jobs about column mapping: what columns went through, and disabling it."""
