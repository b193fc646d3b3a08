"""The study behind ``docs/dragonfly-theory.md``: a dragonfly measured against its theory."""
