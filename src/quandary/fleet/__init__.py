"""Many machines: workers that go on with runs, and the queue from which they take them."""
