"""`scope reproduce`: published experiments, repeated here."""
