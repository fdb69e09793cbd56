"""`pvm_random` as a module of the package."""

from pvm_random import (
    Random,
    choice,
    getrandbits,
    randbytes,
    randint,
    randrange,
    sample,
    shuffle,
)
