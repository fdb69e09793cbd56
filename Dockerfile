# The node as an image: Python, /opt/venv, nothing that builds. docs/docker.md says how to
# use it. Everything in it is locked: dependencies by hash, the wheel built from this
# checkout with the locked hatchling.
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS builder
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_ROOT_USER_ACTION=ignore \
    PIP_CACHE_DIR=/cache
# Environments without pip: what only installs has no business in the image.
RUN python3 -m venv /opt/build && python3 -m venv --without-pip /opt/venv
WORKDIR /src
# Before the sources, so that a changed source installs no dependency again.
COPY requirements/build.lock requirements/runtime.lock requirements/
RUN --mount=type=cache,target=/cache \
    /opt/build/bin/pip install --require-hashes -r requirements/build.lock \
    && /opt/build/bin/pip --python /opt/venv/bin/python install \
      --only-binary :all: --require-hashes -r requirements/runtime.lock
COPY . .
# Bytecode is compiled here: the node's file system is read-only.
RUN /opt/build/bin/hatchling build -t wheel -d /wheel \
    && /opt/build/bin/pip --python /opt/venv/bin/python install \
      --no-cache-dir --no-deps --no-index /wheel/*.whl

FROM ${BASE_IMAGE}
RUN groupadd --gid 10001 devnet \
    && useradd --uid 10001 --gid devnet --no-create-home --home-dir /data devnet \
    && install --directory --owner devnet --group devnet --mode 0750 /data
COPY --from=builder /opt/venv /opt/venv
# Inside a container the outside is reached on every address; what the host publishes is
# decided by `docker run -p` or the compose file. What an actor that got out may leave in
# the chain's folder is nothing that Python would look for, there or in a working folder.
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONSAFEPATH=1 \
    COWBOY_DEVNET_DATA_DIR=/data \
    COWBOY_DEVNET_GRPC_LISTEN=0.0.0.0:50051 \
    COWBOY_DEVNET_HTTP_LISTEN=0.0.0.0:8080
USER 10001:10001
WORKDIR /
EXPOSE 50051 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --retries=3 --start-period=60s --start-interval=1s \
    CMD ["python", "-m", "node.cli.health"]
ENTRYPOINT ["cowboy-devnet"]
CMD ["start"]
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="cowboy-devnet" \
      org.opencontainers.image.description="A local devnet node for Cowboy" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
