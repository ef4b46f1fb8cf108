"""Changes of tables: one module or package per kind, each with its plan and its verification."""
