"""Ways to ask a program: which agents there are, how one is run, and what it said."""
