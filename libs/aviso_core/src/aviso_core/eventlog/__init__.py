"""Where events are kept: one ordered log per topic base, in memory or on JetStream, under one contract."""
