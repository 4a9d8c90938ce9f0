"""Where the logs are: what each holds, from which sequence to which, and how that changes."""
