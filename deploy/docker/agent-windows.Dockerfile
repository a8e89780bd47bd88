# The node agent and the stand-in for Windows nodes, as a HostProcess image: no Windows base layer, one image for every
# Windows Server version, and no Windows machine needed to build it. Build from the repository's root:
#   docker buildx build -f deploy/docker/agent-windows.Dockerfile --platform windows/amd64 .
FROM --platform=linux/amd64 golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=windows GOARCH=amd64 \
    go build -trimpath -ldflags "-s -w" -o /out/ ./cmd/evenkeel-agent ./cmd/evenkeel-cni

FROM mcr.microsoft.com/oss/kubernetes/windows-host-process-containers-base-image:v1.0.0
COPY --from=build /out/evenkeel-agent.exe /out/evenkeel-cni.exe ./
ENTRYPOINT ["evenkeel-agent.exe"]
CMD ["run"]
