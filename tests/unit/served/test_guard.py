"""Who is served, for how long: token, TLS, and the end of calls, over a socket."""

import asyncio

import grpc
import pytest
import trustme
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from node.chain.transaction import Body, Fund, Transfer, impersonate
from node.client import (
    Api,
    AsyncApi,
    NodeError,
    NodeUnreachable,
    Wallet,
    draft,
)
from node.primitives.types import Amount
from node.rpc.access import Access, Certificate
from node.rpc.errors import STATUS_KEY
from node.rpc.limits import RpcLimits
from node.rpc.v1 import transactions_pb2, types_pb2
from node.rpc.v1.transactions_pb2_grpc import TransactionServiceStub
from node.runtime.types import MiningMode

GOOD = "a-token-of-a-test"
ALICE, BOB = Wallet.dev(0), Wallet.dev(1)
TO_BOB = Transfer(BOB.address, 5)
SERVING = health_pb2.HealthCheckResponse.SERVING


async def refused(call):
    with pytest.raises(NodeError) as error:
        await call
    return error.value.code, error.value.reason


# --- the token ---------------------------------------------------------------------


def test_without_the_token_nothing_but_health_is_served(run_node):
    async def scenario():
        async with run_node(access=Access(GOOD)) as node:
            for token in (None, "another-token-of-a-test", GOOD + "x", GOOD.upper()):
                async with AsyncApi(node.url, token=token) as client:
                    wanted = ("UNAUTHENTICATED", "UNAUTHENTICATED")
                    assert await refused(client.status()) == wanted
                    assert await refused(client.mine()) == wanted
                    assert await refused(anext(client.stream_blocks())) == wanted
            assert node.engine.state.head.height == 0, "a refused call does nothing"
            async with node.channel() as channel:
                health = health_pb2_grpc.HealthStub(channel)
                answer = await health.Check(health_pb2.HealthCheckRequest())
                assert answer.status == SERVING
                stub = reflection_pb2_grpc.ServerReflectionStub(channel)
                request = reflection_pb2.ServerReflectionRequest(list_services="")
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    await anext(aiter(stub.ServerReflectionInfo(iter([request]))))
                assert error.value.code() is grpc.StatusCode.UNAUTHENTICATED

    asyncio.run(scenario())


def use(client):
    """A call with one answer, and a stream."""
    genesis = client.block(0).header
    client.mine()
    place = types_pb2.BlockRef(height=0, hash=genesis.hash)
    stream = client.stream_blocks(place)
    height = next(stream).block.header.height
    stream.close()
    return height


@pytest.mark.parametrize("transport", ["grpc", "connect"])
def test_with_the_token_both_clients_are_served(run_node):
    async def scenario():
        async with run_node(access=Access(GOOD)) as node:
            async with AsyncApi(node.url, token=GOOD) as client:
                stream = client.stream_blocks()
                reading = asyncio.create_task(anext(stream))
                await node.until_readers(1)
                await client.mine()
                assert (await reading).block.header.height == 1
                await stream.aclose()
            with Api(node.url, token=GOOD) as client:
                assert await asyncio.to_thread(use, client) == 1

    asyncio.run(scenario())


# --- TLS ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(scope="module")
def access(authority):
    """A real certificate for this machine, and a token."""
    issued = authority.issue_cert("127.0.0.1")
    chain = b"".join(part.bytes() for part in issued.cert_chain_pems)
    return Access(GOOD, Certificate(chain, issued.private_key_pem.bytes()))


def test_over_tls_both_clients_are_served(run_node, authority, access):
    trusted = authority.cert_pem.bytes()

    async def scenario():
        async with run_node(access=access) as node:
            options = {"tls_ca": trusted, "token": GOOD, "timeout": 10}
            async with AsyncApi(f"https://{node.url}", **options) as client:
                assert (await client.status()).chain_id == 100
            with Api(f"https://{node.url}", **options) as client:
                assert await asyncio.to_thread(use, client) == 1

    asyncio.run(scenario())


def test_who_does_not_trust_the_certificate_or_speaks_in_the_clear_is_not_served(
    run_node, access
):
    async def scenario():
        async with run_node(access=access) as node:
            stranger = trustme.CA().cert_pem.bytes()
            for url, tls_ca in (
                (f"https://{node.url}", stranger),
                (f"https://{node.url}", None),
                (node.url, None),
            ):
                options = {"tls_ca": tls_ca, "token": GOOD, "timeout": 2}
                async with AsyncApi(url, **options) as client:
                    with pytest.raises((NodeUnreachable, NodeError)) as error:
                        await client.status()
                    if isinstance(error.value, NodeError):
                        assert error.value.code == "DEADLINE_EXCEEDED"

    asyncio.run(scenario())


# --- the end of calls --------------------------------------------------------------


@pytest.mark.parametrize("transport", ["grpc", "connect"])
def test_a_call_without_a_deadline_is_ended_by_the_server(run_node):
    """In mode manual a transaction may wait for ever; the call does not."""

    async def scenario():
        limits = RpcLimits(call_ms_max=50)
        async with run_node(mode=MiningMode.MANUAL, limits=limits) as node:
            async with AsyncApi(node.url) as client:
                prepared = await client.prepare(draft(ALICE.address, TO_BOB))
            raw = ALICE.sign_encoded(prepared.body)
            request = transactions_pb2.SubmitAndWaitRequest(transaction=raw)
            async with node.channel() as channel:
                service = TransactionServiceStub(channel)
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    await service.SubmitAndWait(request)  # without a timeout
                assert error.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
                assert "no answer within 50 ms" in error.value.details()
                ((key, value),) = error.value.trailing_metadata()
                assert key == STATUS_KEY
                assert b"CALL_TOO_LONG" in value
            assert node.engine.status.pool_transactions == 1, "it waits still"

    asyncio.run(scenario())


# --- a chain without development ----------------------------------------------------


@pytest.mark.parametrize(
    "how", [{"is_dev": False}, {"is_dev_genesis": False}], ids=["--no-dev", "genesis"]
)
def test_without_dev_there_is_no_dev_service_and_nobody_is_impersonated(run_node, how):
    """UNIMPLEMENTED; reflection and health do not know it either."""
    no = Amount(0)
    body = Body(100, 0, 0, 0, no, no, no, no, Fund(BOB.address, Amount(1)))

    async def scenario():
        async with run_node(**how) as node, AsyncApi(node.url) as client:
            for call in (
                client.mine(),
                client.fund(BOB.address, 1),
                client.set_balance(BOB.address, 1),
                client.set_mining(1),
                client.reset(),
            ):
                assert (await refused(call))[0] == "UNIMPLEMENTED"
            as_sender = client.submit(body.encode(), as_sender=BOB.address)
            assert (await refused(as_sender))[1] == "DEV_INSTRUCTION_REFUSED"
            for raw in (impersonate(body.encode(), BOB.address), ALICE.sign(body)):
                wanted = ("FAILED_PRECONDITION", "DEV_INSTRUCTION_REFUSED")
                assert await refused(client.submit(raw)) == wanted
            assert node.engine.status.pool_transactions == 0
            async with node.channel() as channel:
                stub = reflection_pb2_grpc.ServerReflectionStub(channel)
                request = reflection_pb2.ServerReflectionRequest(list_services="")
                answer = await anext(aiter(stub.ServerReflectionInfo(iter([request]))))
                names = {s.name for s in answer.list_services_response.service}
                assert not {name for name in names if "Dev" in name}
                health = health_pb2_grpc.HealthStub(channel)
                with pytest.raises(grpc.aio.AioRpcError) as error:
                    await health.Check(
                        health_pb2.HealthCheckRequest(
                            service="cowboy.devnet.v1.DevService"
                        )
                    )
                assert error.value.code() is grpc.StatusCode.NOT_FOUND

    asyncio.run(scenario())


# --- requests that are none ----------------------------------------------------------


@pytest.mark.parametrize(
    "method",
    [
        "QueryService/GetStatus",
        "TransactionService/Submit",
        "StreamService/StreamBlocks",
        "DevService/ImportBundle",
    ],
)
def test_bytes_that_are_no_request_are_refused_and_counted(run_node, caplog, method):
    """Malformed bytes: INVALID_ARGUMENT; no defect, so no traceback in the log."""
    name = f"cowboy.devnet.v1.{method}"

    async def scenario():
        async with run_node() as node, node.channel() as channel:
            if method == "StreamService/StreamBlocks":
                call = anext(aiter(channel.unary_stream(f"/{name}")(b"\xff\xff")))
            elif method == "DevService/ImportBundle":
                call = channel.stream_unary(f"/{name}")(iter([b"\xff\xff"]))
            else:
                call = channel.unary_unary(f"/{name}")(b"\xff\xff")
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await call
            assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert "MALFORMED_REQUEST" in str(error.value.trailing_metadata())
            counted = name, "INVALID_ARGUMENT"
            while not node.stats.calls[counted]:  # noqa: ASYNC110 - behind its answer
                await asyncio.sleep(0)
            assert node.stats.calls[name, "INVALID_ARGUMENT"] == 1

    asyncio.run(scenario())
    assert not caplog.records
