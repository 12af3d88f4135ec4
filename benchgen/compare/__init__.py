"""Runs beside each other: paired figures (`paired`), pictures (`plots`), pages (`report`)."""
