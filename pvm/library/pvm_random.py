"""`pvm_random`, also as `random`: integers from a generator of our own.

The generator is sha256 of the seed and a counter: block i of the stream is
sha256(seed ‖ i as 8 bytes, big-endian), and bits are taken from the stream in whole
bytes, the first byte the most significant. It is not CPython's Mersenne Twister and
gives other numbers. `Random(seed)` takes an int, str or bytes and is reproducible;
the functions of the module draw from one generator a call, seeded by
`pvm_host.randomness`, which everybody can predict who knows the block's beacon.
Choices are unbiased: a number beyond the range is thrown away and drawn again.
"""

from pvm_host import randomness as _randomness, sha256 as _sha256

_BITS_MAX = 4096


class Random:
    """A reproducible stream of numbers."""

    def __init__(self, seed):
        if isinstance(seed, bool):
            raise TypeError("a seed is an int, str or bytes")
        if isinstance(seed, int):
            size = seed.bit_length() // 8 + 1
            seed = b"int:" + seed.to_bytes(size, "big", signed=True)
        elif isinstance(seed, str):
            seed = b"str:" + seed.encode()
        elif isinstance(seed, bytes):
            seed = b"bytes:" + seed
        else:
            raise TypeError("a seed is an int, str or bytes")
        self._seed = _sha256(seed)
        self._counter = 0
        self._rest = b""

    def randbytes(self, n):
        """The next n bytes of the stream."""
        if n < 0:
            raise ValueError("a negative number of bytes")
        parts = [self._rest]
        size = len(self._rest)
        while size < n:
            parts.append(_sha256(self._seed + self._counter.to_bytes(8, "big")))
            self._counter += 1
            size += 32
        stream = b"".join(parts)
        self._rest = stream[n:]
        return stream[:n]

    def getrandbits(self, k):
        """A number of at most k bits, each as likely."""
        if k < 0 or k > _BITS_MAX:
            raise ValueError("bits are 0 to 4,096")
        size = (k + 7) // 8
        return int.from_bytes(self.randbytes(size), "big") >> (8 * size - k)

    def randrange(self, start, stop=None, step=1):
        """A number of `range(start, stop, step)`."""
        if stop is None:
            start, stop = 0, start
        if step == 0:
            raise ValueError("the step is zero")
        if step > 0:
            width = (stop - start + step - 1) // step
        else:
            width = (start - stop - step - 1) // -step
        if width <= 0:
            raise ValueError("the range is empty")
        return start + step * self._below(width)

    def randint(self, a, b):
        """A number from a to b, both included."""
        return self.randrange(a, b + 1)

    def choice(self, seq):
        """One item of a sequence."""
        if len(seq) == 0:
            raise IndexError("the sequence is empty")
        return seq[self._below(len(seq))]

    def shuffle(self, x):
        """Bring a list in any order, where it is."""
        for place in range(len(x) - 1, 0, -1):
            other = self._below(place + 1)
            x[place], x[other] = x[other], x[place]

    def sample(self, population, k):
        """k items of a sequence, each at most once, in any order."""
        items = list(population)
        if k < 0 or k > len(items):
            raise ValueError("more items than there are, or less than none")
        for place in range(k):
            other = place + self._below(len(items) - place)
            items[place], items[other] = items[other], items[place]
        return items[:k]

    def _below(self, n):
        """A number below n, each as likely."""
        bits = (n - 1).bit_length()
        number = self.getrandbits(bits)
        while number >= n:
            number = self.getrandbits(bits)
        return number


def _fresh():
    return Random(_randomness(b"pvm_random"))


def randbytes(n):
    return _fresh().randbytes(n)


def getrandbits(k):
    return _fresh().getrandbits(k)


def randrange(start, stop=None, step=1):
    return _fresh().randrange(start, stop, step)


def randint(a, b):
    return _fresh().randint(a, b)


def choice(seq):
    return _fresh().choice(seq)


def shuffle(x):
    _fresh().shuffle(x)


def sample(population, k):
    return _fresh().sample(population, k)
