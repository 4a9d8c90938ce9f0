"""Jobs between tables and the notification service: publish, archive, replay, analyse."""
