"""The service that says which event types there are."""
