"""Real machines: their hosts, measured collectives on them, calibration and prediction."""
