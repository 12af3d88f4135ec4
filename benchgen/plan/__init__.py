"""Plans: exactly what a training would do, what it would cost, and the gate in front of it."""
