# syntax=docker/dockerfile:1
# The image of Evenkeel's in-cluster programs, for every platform that the builder is asked for:
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=v0.1.0 -t IMAGE .
# The executable is made by the same make target, with the same flags, as the released ones.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
ARG TARGETOS TARGETARCH
ARG VERSION=v0.0.0
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN GOOS=$TARGETOS GOARCH=$TARGETARCH make build COMMANDS=./cmd/evenkeel VERSION=$VERSION \
 && ln -s evenkeel bin/descheduler

FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /src/bin/ /bin/
USER 65532:65532
ENTRYPOINT ["/bin/evenkeel"]
