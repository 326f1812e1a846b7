"""Many runs of a program: studies over parameters, processes and placements, and what they show together."""
