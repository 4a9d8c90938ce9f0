"""The log on NATS JetStream. Nothing outside this package and the registry's knows the broker."""
