"""Where schemas live, and how a change of one reaches everybody who serves it."""
