"""Why a filter delivers an event to a caller or not, and how many events it would have delivered of late."""
