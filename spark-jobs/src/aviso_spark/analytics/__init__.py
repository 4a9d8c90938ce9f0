"""What a log says about its producers: coverage, latency, gaps, repetitions, places; and the page that shows it."""
