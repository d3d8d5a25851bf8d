"""Many machines: workers that drive runs, and the queue from which they take them."""
