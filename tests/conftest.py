"""What holds for every test: a signal reaches the programs that it starts, what is seen of stores
is kept in a folder of its own, and Hypothesis draws the same examples in every run.

A shell that runs something in the background has it ignore Ctrl-C, nohup a lost terminal, and
children inherit that.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

from hypothesis import HealthCheck, settings

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="quandary-state-")
atexit.register(shutil.rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# A busy machine is slow; that is no failure of the code under test.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=(HealthCheck.too_slow,),
    print_blob=True,
    derandomize=True,
)
# New examples, many more of them: `make properties`.
settings.register_profile(
    "fresh", settings.get_profile("patient"), derandomize=False, max_examples=1000
)
settings.load_profile("patient")
