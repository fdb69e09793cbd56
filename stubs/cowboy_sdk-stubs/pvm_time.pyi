"""`pvm_time` as a module of the package, with the height that goes with it."""

from pvm_host import block_height as block_height
from pvm_time import time_ms as time_ms
from pvm_time import time_ns as time_ns
