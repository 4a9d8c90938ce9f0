"""The topic: identifier values as the tokens of one subject."""
