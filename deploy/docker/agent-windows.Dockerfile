# The node agent and the stand-in for Windows nodes, as a HostProcess image: no Windows base layer, one image for every
# Windows Server version, and no Windows machine needed to build it. Build from the repository's root:
#   docker buildx build -f deploy/docker/agent-windows.Dockerfile --platform windows/amd64 --build-arg VERSION=v0.1.0 .
# The executables are made by the same make target, with the same flags and version resource, as the released ones.
FROM --platform=linux/amd64 golang:1.26-bookworm AS build
ARG VERSION=v0.0.0
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN GOOS=windows GOARCH=amd64 make build COMMANDS="./cmd/evenkeel-agent ./cmd/evenkeel-cni" OUT=/out VERSION=$VERSION

FROM mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0
COPY --from=build /out/evenkeel-agent.exe /out/evenkeel-cni.exe ./
ENTRYPOINT ["evenkeel-agent.exe"]
CMD ["run"]
