"""Scope measures a cluster layer by layer and says where performance is lost, and why."""
