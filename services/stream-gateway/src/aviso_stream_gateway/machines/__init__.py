"""Replay for programs: history as lines of JSON, or as record batches of Arrow."""
