"""Many notifications in one request."""
