"""Drivers of optical switches that come with Odonata."""
