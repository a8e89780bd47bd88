# The node agent and the stand-in for Linux nodes. Build from the repository's root:
#   docker buildx build -f deploy/docker/agent-linux.Dockerfile --platform linux/amd64,linux/arm64 .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=linux GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w" -o /out/ ./cmd/evenkeel-agent ./cmd/evenkeel-cni

FROM scratch
COPY --from=build /out/evenkeel-agent /out/evenkeel-cni /
# Root, because the plugin folder and the socket belong to root.
ENTRYPOINT ["/evenkeel-agent"]
CMD ["run"]
