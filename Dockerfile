# The same image as tools/image makes, for those who build with a container engine:
#
#   docker buildx build --platform linux/amd64,linux/arm64 --build-arg VERSION=1.2.3 .
#
# What is in the image is decided in one place for both, tools/imagebuild. It is built
# from nothing: there is no shell, no package and no C library to keep up to date.
# Reproducible digests are tools/image's promise; this file does not make it.

# The toolchain that tools/vulndb/go.mod names; tools/image --check compares. Cross
# compilation is cheaper than emulation, so it runs on the builder's own platform. Pin the
# digest of your registry's mirror if you have one.
FROM --platform=$BUILDPLATFORM golang:1.27.3 AS build
WORKDIR /src
COPY . .
ARG TARGETPLATFORM
ARG VERSION=dev
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    go -C tools/imagebuild run . -rootfs /rootfs -platform "$TARGETPLATFORM" -version "$VERSION"

FROM scratch
COPY --from=build /rootfs/ /
# By number: Kubernetes cannot tell from a name that it is not root's.
USER 65532:65532
EXPOSE 9090 8080 8081
LABEL org.opencontainers.image.title="avalanched" \
      org.opencontainers.image.source="https://github.com/avalanched/avalanched" \
      org.opencontainers.image.licenses="Apache-2.0"
ENTRYPOINT ["/avalanched"]
CMD ["serve"]
