"""`scope run`: a run begun or resumed, measured, submitted as one job or as many."""
