"""Raw samples: the lines of `samples.jsonl` and their reader."""
