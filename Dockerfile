# docker build --build-arg TRANCHED_COMMIT="$(git describe --always --abbrev=7 --dirty=+changes)" --tag tranched .
#
# Builds two images: `live`, the default, and `sandbox`, which includes a local chain.
# docs/deployment.md says how to run them; compose.yaml runs the sandbox with Prometheus and Grafana.

# For another registry, or a pinned image: --build-arg BASE_IMAGE=registry.example/node@sha256:...
ARG BASE_IMAGE=node:22.23.3-bookworm-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /build
# Optional mirror of npm's registry.
ARG NPM_CONFIG_REGISTRY
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
COPY bench bench
# The build context has no .git.
ARG TRANCHED_COMMIT
RUN node scripts/build.mjs && find dist -name '*.map' -delete
COPY ecosystem.config.cjs LICENSE ./
COPY config config
COPY strategies strategies
# Readable by all and writable by none, whatever umask the clone was made with.
RUN mkdir -p /image/opt/tranched \
 && cp -r package.json LICENSE ecosystem.config.cjs config strategies dist /image/opt/tranched/ \
 && node scripts/vendor.mjs /image/opt/tranched/node_modules secp256k1 \
 && chmod -R a+rX,go-w /image/opt

FROM build AS chain
RUN node scripts/vendor.mjs /chain/opt/tranched/node_modules @foundry-rs/anvil-linux-amd64 \
 && chmod -R a+rX,go-w /chain/opt

FROM ${BASE_IMAGE} AS program
# An id that users of the host are unlikely to have: the daemon refuses files owned by anyone but itself and root.
# Mounted state must be writable by it; a named volume copies the ownership from here.
RUN groupadd --gid 10001 tranched \
 && useradd --uid 10001 --gid tranched --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin tranched \
 && install -d -o tranched -g tranched -m 700 /var/lib/tranched /var/lib/tranched-anchor \
 && ln -s /opt/tranched/dist/tranched.js /usr/local/bin/tranched
COPY --from=build /image/opt/tranched /opt/tranched
# Returns freed memory to the system. By default glibc keeps up to twice the largest block that was freed, 12 MiB after a start.
ENV MALLOC_TRIM_THRESHOLD_=131072
# These override the config: the state is on the volume, and the health check finds the port.
ENV TRANCHED_STATE_DIR=/var/lib/tranched \
    TRANCHED_HTTP_PORT=9464
USER 10001:10001
EXPOSE 9464
# Checks that the daemon's loop runs. It does not use /readyz, because a service that is down is no reason to restart. A start
# after a crash may wait 30 s for the previous holder of the state.
HEALTHCHECK --interval=15s --timeout=5s --start-period=90s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TRANCHED_HTTP_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# A stop waits up to 30 s for open orders: docker stop --time 45.
STOPSIGNAL SIGTERM
ENTRYPOINT ["tranched"]
ARG TRANCHED_COMMIT
LABEL org.opencontainers.image.title="tranched" \
      org.opencontainers.image.description="Autonomous trading daemon: YAML strategies, gasless swaps, aggregated calls" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.revision="${TRANCHED_COMMIT}"

FROM program AS sandbox
COPY --from=chain /chain/opt/tranched/node_modules /opt/tranched/node_modules
WORKDIR /opt/tranched
CMD ["run", "--config", "config/sandbox.yaml"]

FROM program AS live
WORKDIR /etc/tranched
CMD ["run", "--stay", "--config", "config/live.yaml"]
