# The node agent and the stand-in for Linux nodes. Build from the repository's root:
#   docker buildx build -f deploy/docker/agent-linux.Dockerfile --platform linux/amd64,linux/arm64 --build-arg VERSION=v0.1.0 .
# The executables are made by the same make target, with the same flags, as the released ones.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
ARG TARGETARCH
ARG VERSION=v0.0.0
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN GOOS=linux GOARCH=$TARGETARCH make build COMMANDS="./cmd/evenkeel-agent ./cmd/evenkeel-cni" OUT=/out VERSION=$VERSION

FROM scratch
COPY --from=build /out/evenkeel-agent /out/evenkeel-cni /
# Root, because the plugin folder and the socket belong to root.
ENTRYPOINT ["/evenkeel-agent"]
CMD ["run"]
