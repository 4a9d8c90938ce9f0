"""The stream gateway: events to whoever watches or replays them."""
