"""The effect of more ranks: speedup, serial fraction, parts of the time."""
