"""AMG2013 on Theta: which placement wins under which routing, and why. See ``theta_amg.py``."""
