"""Reports for people, composed from findings and the texts of their rules."""
