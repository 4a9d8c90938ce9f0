"""The service that takes notifications in."""
