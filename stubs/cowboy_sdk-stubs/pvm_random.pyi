"""`pvm_random` as a module of the package."""

from pvm_random import (
    Random as Random,
)
from pvm_random import (
    choice as choice,
)
from pvm_random import (
    getrandbits as getrandbits,
)
from pvm_random import (
    randbytes as randbytes,
)
from pvm_random import (
    randint as randint,
)
from pvm_random import (
    randrange as randrange,
)
from pvm_random import (
    sample as sample,
)
from pvm_random import (
    shuffle as shuffle,
)
