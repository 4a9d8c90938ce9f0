"""What is to be done about event types: from what is wanted and what is seen to a list of actions."""
