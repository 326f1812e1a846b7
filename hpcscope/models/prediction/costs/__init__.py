"""The costs of the algorithms, phase by phase (Melas 2000, appendix F, corrected): one file per algorithm."""
