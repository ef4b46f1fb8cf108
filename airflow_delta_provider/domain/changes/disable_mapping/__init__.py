"""Whether column mapping can go without a rewrite, the plan for it, and its verification."""
