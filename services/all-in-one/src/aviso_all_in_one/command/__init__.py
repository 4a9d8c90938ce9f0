"""The command `avisod`: what can be asked of it, and who does it."""
