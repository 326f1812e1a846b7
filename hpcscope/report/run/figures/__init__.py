"""The figures of a run's report: each module turns results of the run into one kind of figure, without colors."""
