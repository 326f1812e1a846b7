"""`scope run`: a run begun or resumed, measured, submitted as a job or as many."""
