# syntax=docker/dockerfile:1

# The build runs on the builder's own platform and compiles for the target's.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY api api
COPY cmd cmd
COPY controllers controllers
COPY internal internal
ARG TARGETOS TARGETARCH VERSION=devel
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/remit ./cmd/remit

# No shell, no package manager: certificates, time zones and one static binary.
FROM gcr.io/distroless/static:nonroot
COPY LICENSE /licenses/LICENSE
COPY --from=build /out/remit /remit
USER 65532:65532
ENTRYPOINT ["/remit"]
