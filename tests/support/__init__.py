"""Models, robots, oracles and runners that several tests use."""
