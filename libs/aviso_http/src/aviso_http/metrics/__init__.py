"""What is counted and measured, and the listener where it can be read."""
