"""The price table of the actor VM (sandbox.md §4): one literal place, with units."""

# Host calls, in cycles; cells are given beside each.
GET_STATE = 100  # + 1 cell per byte of the value
SET_STATE = 200  # + 1 cell per byte of key and value
DELETE_STATE = 200  # + 1 cell per byte of the key
SEND_MESSAGE = 80  # + 1 cell per byte of the payload; create_deferred_tx too
SCHEDULE_TIMER = 200  # + 1 cell per byte of the payload (CIP-5 §6.1)
WATCH_KEY = 50  # of set_state_watch, each; + WATCH_KEY_CELLS + 1 per byte of its prefix
WATCH_KEY_CELLS = 20
UPDATE_TIMER = 200  # + 1 cell per byte of a new payload
EXTEND_TIMER = 200  # CIP-5 §6.1
CANCEL_TIMER = 200  # CIP-5 §6.1
EMIT_EVENT = 500  # + EMIT_EVENT_PER_BYTE; 1 cell per 2 bytes rounded up (D17)
EMIT_EVENT_PER_BYTE = 5
CALL_ACTOR = 500  # + what the callee uses; 1 cell per byte of the payload
CALL_ACTOR_PER_NODE = 1  # of the callee's syntax: its code may have to be unpacked
TRANSFER = 1_000
UPGRADE_SELF = 50_000  # + COMPILE_PER_NODE, UPGRADE_SELF_PER_BYTE; cells below (D6)
UPGRADE_SELF_PER_BYTE = 100
UPGRADE_SELF_CELLS = 10_000  # + UPGRADE_SELF_CELLS_PER_BYTE
UPGRADE_SELF_CELLS_PER_BYTE = 200
READ_CONTEXT = 7  # addresses, height, timestamp, gas_left, charge_gas, revert
CONTEXT = 300  # `context()`: two digests, and a fresh dict
GET_BALANCE = 100  # reads state, as GET_STATE does
GET_TIMER = 200
LIST_TIMERS = 100
LIST_TIMERS_PER_ENTRY = 100
SCAN_STATE = 100  # + 1 cell per byte of keys and values
SCAN_STATE_PER_ENTRY = 100
SCAN_STATE_PER_REMOVED = 20
RANDOMNESS = 400  # two digests, and the encoding between them
KECCAK256 = 100  # + KECCAK256_PER_WORD for each started 32 bytes
KECCAK256_PER_WORD = 6
SHA = 500  # sha256, sha512, blake2b: + SHA_PER_BLOCK for each started 64 bytes
SHA_PER_BLOCK = 8
VERIFY_SECP256K1 = 10_000
LOG = 100  # and `print`: + what `str` of each value costs + 1 a character (D59)

COMPILE_PER_NODE = 200  # of a deployed source's syntax, with what is written out (D6)

# Cycles of syntax, summed over a block when the source is compiled.
STATEMENT = 1
OPERATOR = 1  # arithmetic, bit, unary, each further and/or operand
OPERATOR_OF = {
    "Mult": 2,
    "Sub": 2,
    "FloorDiv": 3,
    "Mod": 3,
    "Pow": 5,
    "LShift": 5,
    "RShift": 5,
}
MEMBERSHIP = 3  # `in`, but for a short literal on a side, more: an int is hashed
COMPARISON = 2  # 1 with `is` and with a short literal on a side
ATTRIBUTE = 1
ATTRIBUTE_ANCESTORS = 4  # of the module's most derived class, for 1 more
TRUTH = 1  # of what `if`, `while`, `not`, `and`, `or`, `any`, … ask, but a comparison
DELETION = 6  # of each x[k] that `del` removes, more
SUBSCRIPT = 3
CALL = 10
HELPER_CALL = 24  # of a builtin, and of a method that a native type has
CALL_OF_BUILTIN = {  # by name, instead
    "abs": 10, "bool": 10, "breakpoint": 100, "bytes": 30, "callable": 10, "chr": 10,
    "dict": 30, "enumerate": 30, "frozenset": 30, "int": 10, "isinstance": 10,
    "len": 5, "map": 60, "ord": 10, "print": 100, "range": 10, "set": 30,
    "sorted": 40, "str": 10, "type": 10, "zip": 54,
}  # fmt: skip
CALL_OF_METHOD = {  # by name, instead; `pop` without arguments only
    "add": 36, "append": 2, "bit_count": 10, "bit_length": 10, "copy": 40,
    "count": 30, "difference": 60, "endswith": 30, "find": 30, "fromkeys": 60,
    "get": 3, "index": 30, "intersection": 60, "issubset": 60, "issuperset": 60,
    "items": 10, "join": 40, "keys": 10, "pop": 2, "remove": 30, "rfind": 30,
    "rsplit": 40, "sort": 30, "split": 40, "splitlines": 40, "startswith": 30,
    "union": 60, "update": 40, "values": 10,
}  # fmt: skip
ARGUMENTS_FREE = 8  # positional ones; each further 1 cycle and 8 bytes
KEYWORDS_FREE = 4  # each further 1 cycle and 100 bytes
FUNCTION_ENTRY = 2
SEQUENCE_DISPLAY = 4  # + 1 an item
DICT_DISPLAY = 8  # + DICT_DISPLAY_PER_ITEM
DICT_DISPLAY_PER_ITEM = 4
CONDITIONAL = 1  # + the test and the dearer side
F_STRING = 2  # + 1 a literal character + F_STRING_PER_FIELD
F_STRING_PER_FIELD = 6
F_STRING_PER_FORM = 8  # more, with a conversion or a format
FOR = 2
FOR_ROUND = 2
WHILE_ROUND = 1  # + the test; a `while` pays for its first test where it stands
DEFINITION = 10  # def and lambda, when evaluated
CLASS = 200  # + CLASS_PER_ANCESTOR + its body
CLASS_PER_ANCESTOR = 30  # of the classes it derives from, and those they do
CLASS_AS_VALUE = 12  # each class that isinstance or issubclass gets as a value
CLASS_ATTRIBUTE = 20  # one of a library's class, or of one that derives from it, more
ENUM_MEMBER = 60  # a constant of an Enum, made a member
HASHED_BITS_PER = 256  # bits of the ints of a tuple that an Enum is asked for
ENUM_QUESTION = 20  # E(value), E["NAME"], len, in, for, its truth, more
COMPREHENSION = 20
COMPREHENSION_ROUND = 2
COMPREHENSION_INNER_ROUND = 10  # more, for each round that starts an inner `for`
TRY = 3
HANDLER = 20
FINALLY = 3
WITH = 10
RAISE = 5  # raise, assert
RAISED = 15  # more, when it does raise
YIELD = 5
RESUME = 5
IMPORT_FIRST = 100
IMPORT_AGAIN = 8
IF_LUMPED_MAX = 32
"""An `if` whose arms differ by at most this many cycles is paid by its block."""

# Bytes of syntax (the allocation account, sandbox.md §5).
STORE_BYTES = 64  # append, add, insert, setdefault, x[k] = v
SEQUENCE_DISPLAY_BYTES = 64
SEQUENCE_DISPLAY_BYTES_PER_ITEM = 8
DICT_DISPLAY_BYTES = 64
DICT_DISPLAY_BYTES_PER_ITEM = 100
FUNCTION_BYTES = 512
COMPREHENSION_BYTES = 64
STR_CALL_BYTES = 64
INSTANCE_BYTES = 256  # + ATTRIBUTE_BYTES for each attribute its class assigns
ATTRIBUTE_BYTES = 32
GENERATOR_BYTES = 4_096
PLACE_BYTES = 40
"""Where a computed value may stay that has paid nothing: a text of 64 characters."""
PLACES_FREE = 4  # items of a display
GENERATOR_PLACES_FREE = 64  # its variables
VARIADIC_BYTES = 256  # entering a function with `*args`, or `**named`; each
EXCEPTION_BYTES = 256

# Bytes charged by helpers.
TEXT_BYTES = 56  # + 1 a character, 4 when not ASCII; only when longer than TEXT_FREE
SEQUENCE_BYTES = 56  # + 8 an item
ITERATED_BYTES_PER_ITEM = 40  # what comes from an iterator or a comprehension
MAPPING_BYTES = 64  # + MAPPING_BYTES_PER_ITEM
MAPPING_BYTES_PER_ITEM = 100

# Cycles of work, beyond the syntax.
TEXT_FREE = 64
"""Texts and bytes up to this long are paid by syntax alone."""
INT_FREE_BITS = 256
"""Integers up to this long are paid by syntax alone."""
INT_LONG = 8  # an operation that takes or gives a longer one, more
OPERATION = 20  # an operator, a slice or a field whose operands are no ints
POWER_STEP = 4  # for each bit of an exponent, + w² for w words of the result
SET_OPERATION = 40  # `| & ^ -` of sets and of views, `|` of dicts
METHOD_BOUND = 16  # `x.method`, not called
BOUND_CALL = 28  # a call of what it gave, more
CAUGHT = 70  # an exception that a handler gets to see
CAUGHT_MISMATCH = 220  # a TypeError of the interpreter's, which may name 64 parameters
MISSPELLED_PER = 6  # pairs of characters of names, for one cycle of such an error
COMPARED_PER = 8  # characters compared for one cycle
WALK_CONTAINER = 16
COMPARED_CONTAINER = 24  # instead, where two are compared
SEARCHED_BITS_PER = 1_024  # bits of an int that is sought, for one cycle an item
SEARCHED_ITEM = 24  # of a list or tuple, until the object or container sought is found
WALK_ITEM = 8
SEARCH_PER = 4  # characters searched, split, stripped or cased for one cycle
SEARCH_NAIVE_PER = 64  # pairs of characters that a naive search compares
SEARCH_NAIVE_BELOW = 2_500  # text in which CPython compares at every place
SEARCH_NAIVE_NEEDLE = 100  # sought in longer ones: longer needles are searched well
STRIP_SET_PER = 256  # pairs of a character and one that is stripped
SPLIT_BYTES = 64  # a piece
HOLES_MAX = 512
"""Deletions after which a dict or set is packed."""
PACK_PER_ITEM = 2
SORT = 10  # beyond the call: + n · bit_length(n) · (1 + longest item // 64)

# Values and the native modules, in cycles.
CODEC = 50  # canonical CBOR: + 1 a byte, after the walk of the value
JSON = 100  # likewise; a value that is written is walked, too
ITERATED = 4  # an item that an iterator gives, or a pair of which a dict is made
PER_KEY = 6  # an item of a dict or set that is built, copied, updated or combined
ZIPPED = 20  # an iterable that `map` or `zip` is given, beyond ZIPPED_FREE
ZIPPED_FREE = 2
SHIFTED_BITS_PER = 128  # bits of the number of places that `>>` shifts by
SPREAD = 20  # what stands after `*`, more
IN_PLACE = 12  # `|=`, `&=`, `^=`, `-=` and `*=` of what syntax does not say, more
OBJECT_KEY = 12  # an object that is written as a key, more
KEYED = 6  # an item of a display, comprehension or set method, looked up as key
DECODED_BYTES_PER_BYTE = 20  # of memory, for what is decoded from JSON or CBOR
TRANSCODE = 16  # base64, hex, struct: + 1 a byte read or written, whichever is more
TEXT_OF_INT = 10  # beyond 64 bits + digits + bits² // TEXT_OF_INT_PER
TEXT_OF_INT_PER = 4_096
HASH_UPDATE = 10  # + SHA_PER_BLOCK for each started 64 bytes
HASH_DIGEST = 60
HASH_BYTES = 512  # of memory, for a hash object
STRUCT_FORMAT_PER_CHARACTER = 8
JSON_INDENT_PER_ITEM = 40  # more, where the standard library writes in Python
NUMBER_WORK = 14  # math: + what each function says
RETURNED_BYTES_MAX = 65_536
"""A handler's returned value: as large as one value of state may be."""
NESTING_MAX = 64
"""Containers inside one another in what is compared, printed, hashed or encoded."""
