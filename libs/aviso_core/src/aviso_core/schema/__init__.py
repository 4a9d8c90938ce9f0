"""What an event type is: its model, where it is read from, and everything that is derived from it."""
