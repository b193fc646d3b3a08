"""What hypothesis draws, for the tests that import this: the same cases in every run, and no
deadlines: machines that test are often busy. `pytest --hypothesis-profile=default` tries others.
"""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
