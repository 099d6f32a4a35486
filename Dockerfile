# docker build --build-arg TRANCHED_COMMIT="$(git describe --always --abbrev=7 --dirty=+changes)" --tag tranched .
#
# Two images come of it: `live`, the last one and so the default, and `sandbox`, which brings a local chain as well.
# docs/deployment.md says how they are run; compose.yaml runs the sandbox with Prometheus and Grafana.

# Another registry, or one very image: --build-arg BASE_IMAGE=registry.example/node@sha256:...
ARG BASE_IMAGE=node:22.23.3-bookworm-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /build
# A mirror of npm's registry, where there is one.
ARG NPM_CONFIG_REGISTRY
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
# There is no .git in the context to ask.
ARG TRANCHED_COMMIT
RUN node scripts/build.mjs && find dist -name '*.map' -delete
COPY ecosystem.config.cjs LICENSE ./
COPY config config
COPY strategies strategies
# Everybody may read it and nobody may write it, whatever the umask was that the clone was made with.
RUN mkdir -p /image/opt/tranched \
 && cp -r package.json LICENSE ecosystem.config.cjs config strategies dist /image/opt/tranched/ \
 && node scripts/vendor.mjs /image/opt/tranched/node_modules secp256k1 \
 && chmod -R a+rX,go-w /image/opt

FROM build AS chain
RUN node scripts/vendor.mjs /chain/opt/tranched/node_modules @foundry-rs/anvil-linux-amd64 \
 && chmod -R a+rX,go-w /chain/opt

FROM ${BASE_IMAGE} AS program
# A number that no person of the host is likely to have: the daemon refuses files that belong to others than itself and root.
# What is mounted there has to be writable by it; a named volume begins as the directory is here.
RUN groupadd --gid 10001 tranched \
 && useradd --uid 10001 --gid tranched --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin tranched \
 && install -d -o tranched -g tranched -m 700 /var/lib/tranched /var/lib/tranched-anchor \
 && ln -s /opt/tranched/dist/tranched.js /usr/local/bin/tranched
COPY --from=build /image/opt/tranched /opt/tranched
# They come before what a config says: the state is on the volume, and the health check finds the port.
ENV TRANCHED_STATE_DIR=/var/lib/tranched \
    TRANCHED_HTTP_PORT=9464
USER 10001:10001
EXPOSE 9464
# Whether the daemon's loop turns. A service that is down is no reason to end it, and so this does not ask for /readyz. A start
# after a crash may wait 30 s for a sign of whoever held the state before.
HEALTHCHECK --interval=15s --timeout=5s --start-period=90s --retries=3 \
    CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TRANCHED_HTTP_PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Open orders are followed to their end, which takes up to 30 s: docker stop --time 45.
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
