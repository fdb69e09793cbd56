"""Operands of methods, modules and host calls; see `benches.operands`."""

from collections.abc import Mapping

METHODS: Mapping[str, tuple[str, ...]] = {
    "int.bit_length": ("a = (1 << 4095) | a.bit_length()",),
    "int.bit_count": ("a = (1 << 4095) - 1 | a.bit_count()",),
    "int.to_bytes": ("a = 5 | a.to_bytes(8, 'big')", "a = 5 | a.to_bytes(512, 'big')"),
    "str.count": ("s = 'ab' * 999 | s.count('a')", "s = 'ab' | s.count('')"),
    "str.encode": ("s = 'é' * 999 | s.encode()", "s = 'a' | s.encode()"),
    "str.endswith": ("s = 'ab' | s.endswith('b')", "s = 'a' | s.endswith(('b',) * 9)"),
    "str.find": ("s = 'a' * 999 | s.find('b')", "s = 'ab' | s.find('b')"),
    "str.index": ("s = 'a' * 999 + 'b' | s.index('b')",),
    "str.join": (
        "x = ['a'] * 999 | ''.join(x)",
        "x = ['é'] * 999 | 'é'.join(x)",
        "x = [] | ''.join(x)",
        "x = 'ab' * 999 | ''.join(x)",
    ),
    "str.partition": ("s = 'a' * 99 | s.partition('b')", "s = 'ab' | s.partition('a')"),
    "str.rpartition": ("s = 'a' * 999 | s.rpartition('b')",),
    "str.replace": (
        "s = 'ab' * 999 | s.replace('a', 'b')",
        "s = 'ab' * 999 | s.replace('a', 'ccc')",
        "s = 'ab' * 999 | s.replace('', 'c')",
        "s = 'é' * 999 | s.replace('é', 'Ā')",
    ),
    "str.rfind": ("s = 'a' * 999 | s.rfind('b')",),
    "str.rsplit": ("s = 'a ' * 999 | s.rsplit()", "s = 'a,' * 999 | s.rsplit(',')"),
    "str.split": (
        "s = 'a ' * 999 | s.split()",
        "s = 'a,' * 999 | s.split(',')",
        "s = 'é ' * 999 | s.split(None, 1)",
        "s = ' ' * 9999 | s.split()",
        "s = 'a' | s.split()",
    ),
    "str.splitlines": ("s = 'a\\n' * 999 | s.splitlines()",),
    "str.startswith": ("s = 'ab'; p = 'a' | s.startswith(p)",),
    "str.lstrip": ("s = ' ' * 999 | s.lstrip()",),
    "str.rstrip": ("s = ' ' * 999 | s.rstrip()",),
    "str.strip": ("s = ' a ' | s.strip()", "s = 'ab' * 99 | s.strip('ba')"),
    "str.removeprefix": ("s = 'ab' * 999 | s.removeprefix('a')",),
    "str.removesuffix": ("s = 'ab' * 999 | s.removesuffix('b')",),
    "str.capitalize": ("s = 'ab' * 999 | s.capitalize()", "s = 'a' | s.capitalize()"),
    **{
        f"str.{name}": (f"s = '{text}' * 999 | s.{name}()", f"s = 'a' | s.{name}()")
        for name, text in {
            "isalnum": "a1",
            "isalpha": "ab",
            "isdecimal": "12",
            "isdigit": "12",
            "islower": "ab",
            "isspace": "  ",
            "isupper": "AB",
            "swapcase": "aB",
            "title": "a b",
            "upper": "ab",
            "lower": "AB",
        }.items()
    },
    "str.center": ("s = 'ab' | s.center(9)", "s = 'ab' | s.center(4000, 'é')"),
    "str.ljust": ("s = 'ab' | s.ljust(9)", "s = 'ab' | s.ljust(4000)"),
    "str.rjust": ("s = 'ab' | s.rjust(9)", "s = 'ab' | s.rjust(4000, 'é')"),
    "str.zfill": ("s = '-5' | s.zfill(9)", "s = '5' | s.zfill(4000)"),
    "bytes.count": ("s = b'ab' * 999 | s.count(b'a')",),
    "bytes.decode": ("s = 'é'.encode() * 999 | s.decode()", "s = b'a' | s.decode()"),
    "bytes.endswith": ("s = b'ab'; p = b'b' | s.endswith(p)",),
    "bytes.find": ("s = b'a' * 999 | s.find(b'b')",),
    "bytes.hex": ("s = b'a' * 999 | s.hex()", "s = b'a' | s.hex()"),
    "bytes.index": ("s = b'a' * 999 + b'b' | s.index(b'b')",),
    "bytes.join": ("x = [b'a'] * 999 | b''.join(x)",),
    "bytes.replace": ("s = b'ab' * 999 | s.replace(b'a', b'ccc')",),
    "bytes.split": ("s = b'a,' * 999 | s.split(b',')", "s = b'a ' * 999 | s.split()"),
    "bytes.startswith": ("s = b'ab'; p = b'a' | s.startswith(p)",),
    "bytes.strip": ("s = b' ' * 999 | s.strip()",),
    "list.append": ("x = [] | x.append(1); x.pop()",),
    "list.clear": ("x = [1] | x.clear()",),
    "list.copy": ("x = [1] * 999 | x.copy()", "x = [] | x.copy()"),
    "list.count": ("x = [1] * 999 | x.count(2)", "x = ['a'] * 999 | x.count('b')"),
    "list.extend": ("x = []; y = [1] | x.extend(y); x.pop()",),
    "list.index": ("x = ['a'] * 999 + ['b'] | x.index('b')",),
    "list.insert": ("x = [1] * 999 | x.insert(0, 1); x.pop()",),
    "list.pop": ("x = [1] * 999 | x.pop(0); x.append(1)",),
    "list.remove": ("x = ['b'] * 999 | x.remove('b'); x.append('b')",),
    "list.reverse": ("x = [1] * 999 | x.reverse()", "x = [1] | x.reverse()"),
    "list.sort": ("x = [2, 1] | x.sort()", "x = list(range(999)) | x.sort()"),
    "tuple.count": ("x = ((1, 2),) * 99; y = (1, 3) | x.count(y)",),
    "tuple.index": ("x = (1,) * 999 + (2,) | x.index(2)",),
    "dict.clear": ("d = {1: 1} | d.clear()",),
    "dict.copy": (
        "d = dict.fromkeys(range(999)) | d.copy()",
        "d = {(i, 1): 1 for i in range(99)} | d.copy()",
        "| {}.copy()",
    ),
    "dict.get": ("d = {1: 1}; k = 1 | d.get(k)", "d = {}; k = (1, 2) | d.get(k)"),
    "dict.items": ("d = {1: 1} | d.items()",),
    "dict.keys": ("d = {1: 1} | d.keys()",),
    "dict.values": ("d = {1: 1} | d.values()",),
    "dict.pop": ("d = {} | d.pop(1, 2)", "d = {} | d.setdefault(1, 1); d.pop(1)"),
    "dict.popitem": ("d = {} | d.setdefault(1, 1); d.popitem()",),
    "dict.setdefault": ("d = {}; k = 'a' | d.setdefault(k, 1)",),
    "dict.update": (
        "d = {}; y = {1: 1} | d.update(y)",
        "d = {}; y = dict.fromkeys(range(999)) | d.update(y)",
    ),
    "OrderedSet.add": ("s = set() | s.add(1)",),
    "OrderedSet.clear": ("s = set() | s.clear()",),
    "OrderedSet.copy": ("s = set(range(999)) | s.copy()", "s = set() | s.copy()"),
    "OrderedSet.difference": (
        "s = set(range(999)); t = {1} | s.difference(t)",
        "s = set(range(999)); t = {1} | s.difference(t, t, t, t)",
    ),
    "OrderedSet.discard": ("s = set() | s.discard(1)",),
    "OrderedSet.intersection": ("s = set(range(999)) | s.intersection(s)",),
    "OrderedSet.issubset": ("s = set(range(999)) | s.issubset(s)",),
    "OrderedSet.issuperset": ("s = set(range(999)) | s.issuperset(s)",),
    "OrderedSet.pop": ("s = set() | s.add(1); s.pop()",),
    "OrderedSet.remove": ("s = set() | s.add(1); s.remove(1)",),
    "OrderedSet.union": ("s = set(range(999)) | s.union(s)", "s = {1} | s.union([2])"),
    "OrderedSet.update": (
        "s = {1} | s.update([1])",
        "s = set(range(99)) | s.update(s)",
    ),
    "int.from_bytes": ("b = b'a' * 512 | int.from_bytes(b, 'big')",),
    "bytes.fromhex": ("s = 'ab' * 999 | bytes.fromhex(s)",),
    "dict.fromkeys": ("x = range(999) | dict.fromkeys(x)", "| dict.fromkeys([1])"),
}

MODULES: Mapping[str, tuple[str, ...]] = {
    **{
        f"base64.{name}encode": (
            f"b = b'a' * 9999 | base64.{name}encode(b)",
            f"b = b'a' | base64.{name}encode(b)",
        )
        for name in ("b16", "b64", "urlsafe_b64")
    },
    "base64.b16decode": ("b = b'AB' * 999 | base64.b16decode(b)",),
    "base64.b64decode": (
        "b = b'ABCD' * 999 | base64.b64decode(b)",
        "b = b'ABCD' | base64.b64decode(b)",
        "b = b'A' * 4001 \ntry: base64.b64decode(b)\nexcept ValueError: pass",
    ),
    "base64.urlsafe_b64decode": ("b = b'AB-_' * 999 | base64.urlsafe_b64decode(b)",),
    "binascii.hexlify": ("b = b'a' * 999 | binascii.hexlify(b)",),
    "binascii.unhexlify": ("b = b'ab' * 999 | binascii.unhexlify(b)",),
    **{
        f"hashlib.{name}": (
            f"b = b'a' * 9999 | hashlib.{name}(b).digest()",
            f"| hashlib.{name}()",
            f"b = b'a'; h = hashlib.{name}() | h.update(b)",
            f"h = hashlib.{name}() | h.digest()",
            f"h = hashlib.{name}() | h.hexdigest()",
        )
        for name in ("blake2b", "sha256", "sha3_256", "sha512")
    },
    "hmac.compare_digest": ("b = b'a' * 999 | hmac.compare_digest(b, b)",),
    "hmac.digest": ("b = b'a' * 999 | hmac.digest(b'k', b, 'sha256')",),
    "hmac.new": (
        "b = b'a' | hmac.new(b'k', b, 'sha256').digest()",
        "b = b'a' * 999 | hmac.new(b, b, 'sha512').hexdigest()",
    ),
    "json.dumps": (
        "x = [1, 'a', None, True] * 99 | json.dumps(x)",
        "x = {'a': {'b': [1]}} | json.dumps(x)",
        "x = 1 | json.dumps(x)",
        "x = [[]] * 99 | json.dumps(x, indent=8)",
        "x = dict.fromkeys(map(str, range(99))) | json.dumps(x, sort_keys=True)",
        "x = 'é' * 999 | json.dumps(x)",
        "x = [1 << 4000] * 9 | json.dumps(x)",
        "x = 'é' * 999 | json.dumps(x, ensure_ascii=False)",
        "x = [1] * 99 | json.dumps(x, skipkeys=True)",
        "x = dict.fromkeys(range(99)) | json.dumps(x, skipkeys=True)",
        "x = [[]] * 99 | json.dumps(x, skipkeys=True)",
        "x = [b''] * 99 | json.dumps(x, default=len)",
    ),
    "json.loads": (
        "x = '[' + '1,' * 999 + '1]' | json.loads(x)",
        "x = '[' + '[],' * 999 + '1]' | json.loads(x)",
        "x = '{\"a\":1}' | json.loads(x)",
        "x = '1' | json.loads(x)",
        "x = '9' * 1200 | json.loads(x)",
        "x = '[' + '[],' * 999 + '1]' | json.loads(x, object_hook=len)",
        "x = '[' + '{},' * 999 + '1]' | json.loads(x, object_hook=len)",
        "x = '[' + '{},' * 999 + '1]' | json.loads(x, object_pairs_hook=len)",
        "x = '[' + '1,' * 999 + '1]' | json.loads(x, parse_int=len)",
        "x = '1' | json.loads(x, parse_int=len)",
        "x = '\"' + '\\\\u00e9' * 999 + '\"' | json.loads(x)",
        "x = '\"' + 'a' * 999 + '\"' | json.loads(x)",
    ),
    "math.comb": ("| math.comb(5, 2)", "| math.comb(4000, 2000)"),
    "math.factorial": ("| math.factorial(5)", "| math.factorial(500)"),
    "math.gcd": (
        "a = 12; b = 18 | math.gcd(a, b)",
        "a = 7 ** 1400; b = 5 ** 1700 | math.gcd(a, b)",
    ),
    "math.isqrt": ("| math.isqrt(99)", "a = 7 ** 1400 | math.isqrt(a)"),
    "math.lcm": (
        "a = 12; b = 18 | math.lcm(a, b)",
        "a = 7 ** 700; b = 5 ** 800 | math.lcm(a, b)",
    ),
    "math.perm": ("| math.perm(5, 2)", "| math.perm(500, 400)"),
    "struct.calcsize": ("| struct.calcsize('<I')", "| struct.calcsize('<' + 'I' * 99)"),
    "struct.pack": (
        "| struct.pack('<I', 5)",
        "| struct.pack('<4000s', b'a')",
        "| struct.pack('<' + 'B' * 9, 1, 1, 1, 1, 1, 1, 1, 1, 1)",
    ),
    "struct.unpack": (
        "b = b'abcd' | struct.unpack('<I', b)",
        "b = b'a' * 4000 | struct.unpack('<4000B', b)",
    ),
}

_SDK = "cowboy_sdk.native"
_RUNTIME = "runtime"

SDK: Mapping[str, tuple[str, ...]] = {
    f"{_SDK}.Address": ("a = b'a' * 20 | cowboy_sdk.Address(a)",),
    f"{_SDK}.ActorRef": ("a = b'a' * 20 | cowboy_sdk.ActorRef(a)",),
    f"{_SDK}.get_owner": (f"| {_RUNTIME}.get_owner()",),
    f"{_SDK}.is_initialized": (f"| {_RUNTIME}.is_initialized()",),
    f"{_SDK}.assume_ownership_if_unowned": (
        f"| {_RUNTIME}.assume_ownership_if_unowned()",
    ),
    f"{_SDK}.transfer_ownership": (
        (
            f"{_RUNTIME}.assume_ownership_if_unowned(); a = pvm_host.get_sender() "
            f"| {_RUNTIME}.transfer_ownership(a)"
        ),
    ),
    f"{_SDK}.renounce_ownership": (
        f"| {_RUNTIME}.assume_ownership_if_unowned(); {_RUNTIME}.renounce_ownership()",
    ),
}

_OWN = "a = pvm_host.self_address(); o = b'\\x07' * 20"
_REFUSED = "try: {}\nexcept pvm_host.HostError: pass"

HOST: Mapping[str, tuple[str, ...]] = {
    "block_height": ("| pvm_host.block_height()",),
    "block_timestamp": ("| pvm_host.block_timestamp()",),
    "self_address": ("| pvm_host.self_address()",),
    "get_sender": ("| pvm_host.get_sender()",),
    "context": ("| pvm_host.context()",),
    "charge_gas": ("| pvm_host.charge_gas(0)",),
    "gas_left": ("| pvm_host.gas_left()",),
    "get_balance": (
        f"{_OWN} | pvm_host.get_balance(a)",
        f"{_OWN} | pvm_host.get_balance(o)",
        "i = 0 | i += 1; pvm_host.get_balance(i.to_bytes(20, 'big'))",
    ),
    "transfer": (
        f"{_OWN} | pvm_host.transfer(o, 1)",
        f"{_OWN} | pvm_host.transfer(a, 0)",
    ),
    "get_state": (
        "| pvm_host.get_state(b'absent')",
        "pvm_host.set_state(b'k', b'v' * 60000) | pvm_host.get_state(b'k')",
        "i = 0 | i += 1; pvm_host.get_state(i.to_bytes(20, 'big'))",
        "| self.storage.get('absent')",
        "self.storage['k'] = [1, 'a'] * 99 | self.storage['k']",
        "| 'absent' in self.storage",
    ),
    "set_state": (
        "| pvm_host.set_state(b'k', b'v')",
        "i = 0 | i += 1; pvm_host.set_state((i % 3999).to_bytes(20, 'big'), b'v')",
        "v = b'v' * 60000 | pvm_host.set_state(b'k', v)",
        "| self.storage['k'] = 1",
        "v = [1, 'a'] * 99 | self.storage['k'] = v",
    ),
    "delete_state": (
        "| pvm_host.delete_state(b'k')",
        "i = 0 | i += 1; pvm_host.delete_state((i % 3999).to_bytes(20, 'big'))",
        "| pvm_host.set_state(b'k', b'v'); pvm_host.delete_state(b'k')",
    ),
    "state_scan_prefix": (
        "| pvm_host.state_scan_prefix(b'k', 10)",
        (
            "pvm_host.set_state(b'k1', b''); pvm_host.set_state(b'k2', b'') "
            "| pvm_host.state_scan_prefix(b'k', 10)"
        ),
        (
            "[pvm_host.set_state(b'k' + bytes([i]), b'') for i in range(200)] "
            "| pvm_host.state_scan_prefix(b'k', 999)"
        ),
        "| self.storage.keys()",
    ),
    "log": (
        "| pvm_host.log('info')",
        "a = 'a' * 64 | pvm_host.log('warning', a, a)",
        "a = '\\n' * 60000 | pvm_host.log('error', a)",
        "\n" + _REFUSED.format("pvm_host.log('', 1)"),
    ),
    "schedule_timer": (
        "h = pvm_host.block_height() \n"
        + _REFUSED.format("pvm_host.schedule_timer(h + 9, b'', gas_limit=2000)"),
        "\n" + _REFUSED.format("pvm_host.schedule_timer(0, b'')"),
    ),
    "schedule_timer_ex": (
        "h = pvm_host.block_height() \n"
        + _REFUSED.format("pvm_host.schedule_timer_ex(h + 9, b'')"),
    ),
    "set_timeout": (
        "a = pvm_host.self_address() \n"
        + _REFUSED.format("pvm_host.set_timeout(a, 9, b'')"),
    ),
    "set_state_watch": (
        "a = pvm_host.self_address() \n"
        + _REFUSED.format("pvm_host.set_state_watch(a, [b'k'] * 16, b'')"),
    ),
    "update_timer": ("\n" + _REFUSED.format("pvm_host.update_timer(b'x' * 32, b'')"),),
    "extend_timer": (
        (
            "h = pvm_host.block_height(); t = pvm_host.schedule_timer(h + 9, b'') "
            "| pvm_host.extend_timer(t, h + 99)"
        ),
        "\n" + _REFUSED.format("pvm_host.extend_timer(b'x' * 32, 5)"),
    ),
    "cancel_timer": (
        (
            "h = pvm_host.block_height() "
            "| pvm_host.cancel_timer(pvm_host.schedule_timer(h + 9, b''))"
        ),
        "\n" + _REFUSED.format("pvm_host.cancel_timer(b'x' * 32)"),
    ),
    "get_timer": (
        (
            "h = pvm_host.block_height(); t = pvm_host.schedule_timer(h + 9, b'') "
            "| pvm_host.get_timer(t)"
        ),
        "| pvm_host.get_timer(b'x' * 32)",
    ),
    "list_timers": (
        "| pvm_host.list_timers()",
        (
            "h = pvm_host.block_height(); "
            "[pvm_host.schedule_timer(h + i, b'') for i in range(5, 300)] "
            "| pvm_host.list_timers()"
        ),
    ),
    "send_message": (
        f"{_OWN} \n"
        + _REFUSED.format("pvm_host.send_message(a, 'f', b'', cycles=1000, cells=0)"),
        f"{_OWN} \n" + _REFUSED.format("pvm_host.send_message(o, 'f', b'')"),
    ),
    "create_deferred_tx": (
        "\n" + _REFUSED.format("pvm_host.create_deferred_tx('f', b'', 1000, 0)"),
    ),
    "call_actor": (
        (
            f"{_OWN} \ntry: pvm_host.call_actor(a, 'callee', b'')\n"
            "except (pvm_host.HostError, pvm_host.RevertError): pass"
        ),
        (
            f"{_OWN} \ntry: pvm_host.call_actor(a, 'nothing', b'')\n"
            "except (pvm_host.HostError, pvm_host.RevertError): pass"
        ),
        f"{_OWN} \n" + _REFUSED.format("pvm_host.call_actor(o, 'f', b'')"),
    ),
    "upgrade_self": (
        "| pvm_host.upgrade_self(b'x = 1')",
        "s = b'x = ' + b'1 + ' * 50 + b'1' | pvm_host.upgrade_self(s)",
        "s = b'#' * 60_000 | pvm_host.upgrade_self(s)",
    ),
    "emit_event": (
        "\n" + _REFUSED.format("pvm_host.emit_event('t', b'')"),
        "d = b'd' * 3000 \n" + _REFUSED.format("pvm_host.emit_event('t', d)"),
    ),
    "revert": ("| pvm_host.revert()",),
    "randomness": (
        "| pvm_host.randomness(b'')",
        "d = b'd' * 32 | pvm_host.randomness(d)",
    ),
    "keccak256": (
        "| pvm_host.keccak256(b'')",
        "d = b'd' * 9999 | pvm_host.keccak256(d)",
        "d = b'd' * 135 | pvm_host.keccak256(d)",
        "d = b'd' * 136 | pvm_host.keccak256(d)",
    ),
    "sha256": ("| pvm_host.sha256(b'')", "d = b'd' * 9999 | pvm_host.sha256(d)"),
    "verify_secp256k1": (
        (
            "h = b'h' * 32; s = b'\\x11' * 64 + b'\\x00'; a = b'a' * 20 "
            "| pvm_host.verify_secp256k1(h, s, a)"
        ),
    ),
    "cbor_encode": (
        "x = [1, 'a', None] * 99 | pvm_host.cbor_encode(x)",
        "x = dict.fromkeys(map(str, range(99))) | pvm_host.cbor_encode(x)",
        "x = 5 | pvm_host.cbor_encode(x)",
        "x = b'a' * 9999 | pvm_host.cbor_encode(x)",
    ),
    "cbor_decode": (
        "x = pvm_host.cbor_encode([1, 'a', None] * 99) | pvm_host.cbor_decode(x)",
        "x = pvm_host.cbor_encode([[]] * 999) | pvm_host.cbor_decode(x)",
        "x = b'\\x05' | pvm_host.cbor_decode(x)",
        "x = b'\\x80' \n" + _REFUSED.format("pvm_host.cbor_decode(x + x)"),
        (
            "x = pvm_host.cbor_encode(dict.fromkeys(map(str, range(99)))) "
            "| pvm_host.cbor_decode(x)"
        ),
    ),
    **{
        f"refused {name}": ("\n" + _REFUSED.format(f"pvm_host.{call}"),)
        for name, call in {
            "get_balance": "get_balance(5)",
            "get_state": "get_state(b'')",
            "set_state": "set_state('k', b'')",
            "transfer": "transfer(b'', 1)",
            "charge_gas": "charge_gas(-1)",
            "randomness": "randomness(5)",
            "keccak256": "keccak256('a')",
            "get_timer": "get_timer(5)",
            "send_message": "send_message(5, b'')",
            "cbor_encode": "cbor_encode(pvm_host)",
            "emit_event": "emit_event(5, b'')",
        }.items()
    },
}
