"""Notifications that come as CloudEvents."""
