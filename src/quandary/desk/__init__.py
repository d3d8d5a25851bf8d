"""What every door does, written once: begin, reply, look, list, resume. The desk prints nothing."""
