"""The message broker: the one connection to it that the log and the registry share."""
