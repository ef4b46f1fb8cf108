"""``MG``: what a migration breaks, loses or cannot undo. Checked on its plan, before anything is changed."""
