"""What holds for every test: a signal reaches the programs that it starts, and what is seen of
stores is kept in a folder of its own.

A shell that runs something in the background has it ignore Ctrl-C, nohup a lost terminal, and
children inherit that.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="quandary-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)
