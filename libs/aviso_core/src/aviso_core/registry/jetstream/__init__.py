"""The registry on the broker: buckets of keys and values, which are streams of their own kind."""
