"""Row ids: fresh ones in the log, materialized ones in files, and sets of them."""
