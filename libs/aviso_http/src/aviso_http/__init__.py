"""What the HTTP services share. It knows nothing about events."""
