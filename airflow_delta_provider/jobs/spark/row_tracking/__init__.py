"""Proofs about the rows of Delta tables."""
