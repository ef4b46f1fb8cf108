"""File formats that table formats are built from. They know nothing about tables."""
