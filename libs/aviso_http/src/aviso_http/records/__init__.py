"""Structured log records: one JSON object for each, on standard output and, where configured, to a collector."""
