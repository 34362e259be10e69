"""Import this, and planners count processor time: other work on the machine does not count."""

import time

time.perf_counter = time.process_time
