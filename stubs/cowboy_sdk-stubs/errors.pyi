"""What the SDK raises. What the chain refuses is `pvm_host.HostError`."""

class CowboyError(RuntimeError):
    """The base of them all."""

    ERROR_SLUG: str = "E1000"

class ActorCallError(CowboyError):
    """The other actor failed, or answered something else than canonical CBOR."""

    ERROR_SLUG: str = "E1206"

class ActorNotFoundError(ActorCallError):
    """No actor lives at the target."""

    ERROR_SLUG: str = "E1220"

class CallDepthExceeded(ActorCallError):
    """Calls of calls are nested too deep: 32."""

    ERROR_SLUG: str = "E1205"

class AddressError(CowboyError):
    """Something is no address."""

    ERROR_SLUG: str = "E1202"

class CodecError(CowboyError):
    """A value has no canonical CBOR, or bytes are none."""

    ERROR_SLUG: str = "E1213"

class LoopBoundExceeded(CowboyError):
    """A bounded loop went on after its bound."""

    ERROR_SLUG: str = "E1201"

class StateConflictError(CowboyError):
    """A guarded value is not what it was."""

    ERROR_SLUG: str = "E1206"
