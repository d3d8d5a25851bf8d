"""The program as a person starts it, also where an agent runs the tests."""

from __future__ import annotations

from quandary.__main__ import main
from quandary.desk import authority

authority.find_agent = lambda: ""

if __name__ == "__main__":
    main()
