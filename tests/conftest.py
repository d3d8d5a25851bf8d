"""What holds for every test: a signal reaches the programs that it starts.

A shell that runs something in the background has it ignore Ctrl-C, nohup a lost terminal, and
children inherit that.
"""

from __future__ import annotations

import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
