"""The price table of the actor VM (sandbox.md §4): one literal place, with units."""

# Host calls, in cycles; cells are given beside each.
GET_STATE = 100  # + 1 cell per byte of the value
SET_STATE = 200  # + 1 cell per byte of key and value
DELETE_STATE = 200  # + 1 cell per byte of the key
SEND_MESSAGE = 80  # + 1 cell per byte of the payload; create_deferred_tx too
SCHEDULE_TIMER = 200  # + 1 cell per byte of the payload (CIP-5 §6.1)
EXTEND_TIMER = 200  # CIP-5 §6.1
CANCEL_TIMER = 200  # CIP-5 §6.1
EMIT_EVENT = 500  # + EMIT_EVENT_PER_BYTE; 1 cell per 2 bytes rounded up (D17)
EMIT_EVENT_PER_BYTE = 5
CALL_ACTOR = 500  # + what the callee uses; 1 cell per byte of the payload
TRANSFER = 1_000
READ_CONTEXT = 2  # context, addresses, height, timestamp, balance, gas_left …
GET_TIMER = 100
LIST_TIMERS = 100
LIST_TIMERS_PER_ENTRY = 100
SCAN_STATE = 100  # + 1 cell per byte of keys and values
SCAN_STATE_PER_ENTRY = 100
KECCAK256 = 60  # + KECCAK256_PER_WORD for each started 32 bytes; randomness too
KECCAK256_PER_WORD = 6
SHA = 500  # sha256, sha512, blake2b: + SHA_PER_BLOCK for each started 64 bytes
SHA_PER_BLOCK = 8
VERIFY_SECP256K1 = 10_000

# Cycles of syntax, summed over a block when the source is compiled.
STATEMENT = 1
OPERATOR = 1  # arithmetic, bit, unary, comparison, each further and/or operand
ATTRIBUTE = 1
SUBSCRIPT = 3
CALL = 10
CALL_OF_BUILTIN = {"len": 5}  # by name; what is not named here costs CALL
CALL_OF_METHOD = {"append": 2, "get": 3, "pop": 2}  # pop without arguments only
ARGUMENTS_FREE = 8  # positional ones; each further 1 cycle and 8 bytes
KEYWORDS_FREE = 4  # each further 1 cycle and 100 bytes
FUNCTION_ENTRY = 2
SEQUENCE_DISPLAY = 4  # + 1 an item
DICT_DISPLAY = 8  # + DICT_DISPLAY_PER_ITEM
DICT_DISPLAY_PER_ITEM = 4
CONDITIONAL = 1  # + the test and the dearer side
F_STRING = 2  # + 1 a literal character + F_STRING_PER_FIELD
F_STRING_PER_FIELD = 2
FOR = 2
FOR_ROUND = 2
WHILE_ROUND = 1  # + the test; a `while` pays for its first test where it stands
DEFINITION = 10  # def and lambda, when evaluated
CLASS = 200  # + its body
ENUM_MEMBER = 20  # a constant of an Enum, made a member
COMPREHENSION = 20
COMPREHENSION_ROUND = 2
COMPREHENSION_INNER_ROUND = 3  # more, for each round that starts an inner `for`
TRY = 3
HANDLER = 5
FINALLY = 3
WITH = 10
RAISE = 5  # raise, assert
YIELD = 5
RESUME = 5
IMPORT_FIRST = 100
IMPORT_AGAIN = 5
IF_LUMPED_MAX = 32
"""An `if` whose arms differ by at most this many cycles is paid by its block."""

# Bytes of syntax (the allocation account, sandbox.md §5).
STORE_BYTES = 64  # append, add, insert, setdefault, x[k] = v
SEQUENCE_DISPLAY_BYTES = 64
SEQUENCE_DISPLAY_BYTES_PER_ITEM = 8
DICT_DISPLAY_BYTES = 64
DICT_DISPLAY_BYTES_PER_ITEM = 100
FUNCTION_BYTES = 256
COMPREHENSION_BYTES = 64
STR_CALL_BYTES = 64
INSTANCE_BYTES = 256  # + ATTRIBUTE_BYTES for each attribute its class assigns
ATTRIBUTE_BYTES = 32
GENERATOR_BYTES = 4_096
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
OPERATION = 8  # an operator, a slice or a field whose operands are no ints
SET_OPERATION = 24  # `| & ^ -` of sets and of views, `|` of dicts
METHOD_BOUND = 8  # `x.method`, not called
CAUGHT = 12  # an exception that a handler gets to see
COMPARED_PER = 8  # characters compared for one cycle
WALK_CONTAINER = 16
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
CODEC = 20  # JSON, canonical CBOR: + 1 a byte, after the walk of the value
DECODED_BYTES_PER_BYTE = 20  # of memory, for what is decoded from JSON or CBOR
TRANSCODE = 10  # base64, hex, struct: + 1 a byte read or written, whichever is more
TEXT_OF_INT = 10  # beyond 64 bits + digits + bits² // TEXT_OF_INT_PER
TEXT_OF_INT_PER = 4_096
HASH_UPDATE = 10  # + SHA_PER_BLOCK for each started 64 bytes
HASH_DIGEST = 60
HASH_BYTES = 512  # of memory, for a hash object
STRUCT_FORMAT_PER_CHARACTER = 8
JSON_INDENT_PER_ITEM = 40  # more, where the standard library writes in Python
NUMBER_WORK = 10  # math: + what each function says
RETURNED_BYTES_MAX = 65_536
"""A handler's returned value: as large as one value of state may be."""
NESTING_MAX = 64
"""Containers inside one another in what is compared, printed, hashed or encoded."""
