"""Operators, sensors and triggers on object stores, by connections, on servers that speak as clouds do."""
