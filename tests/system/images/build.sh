#!/usr/bin/env bash
# build.sh [NAME...]: builds images with Docker, all of them unless some are named, as aviso/NAME:$TAG (dev).
#
# IMAGE        builds the one that is named under this name instead (so that Skaffold can say it)
# BASE         the image with Python that services stand on; SPARK_BASE that with Spark
# RELOADING    builds services to be worked on where it is true: whose files can be changed, and who start anew on SIGHUP
# PUSH_IMAGE   pushes what was built where it is true
# LOAD_IMAGE   a command that brings an image into the nodes of a cluster, where that is not a registry's affair
#
# Where the cluster kit lies beside the checkout, or AVISO_CLUSTER_KIT leads to it, it gives the Docker engine and the
# bases, which come from no registry, and what was built is loaded into its node if that is up.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

kit=${AVISO_CLUSTER_KIT:-../shared/cluster}
docker_build=(docker build)
if [ -x "$kit/docker-build.sh" ]; then
  docker_build=("$kit/docker-build.sh")
  . "$kit/env.sh"
  BASE=${BASE:-aviso/base-python:bookworm}
  SPARK_BASE=${SPARK_BASE:-aviso/base-spark:4.3.0}
  [ ! -S "$AVISO_CLUSTER_DIR/containerd/c.sock" ] || LOAD_IMAGE=${LOAD_IMAGE:-$kit/load.sh}
else
  kit=
fi
export DOCKER_BUILDKIT=1

# A base that the kit makes, if it is one of those.
make_base() {
  case $kit:$1 in
    :*) ;;
    *:aviso/base-python:*) "$kit/base-image.sh" python ;;
    *:aviso/base-spark:*) "$kit/spark-image.sh" ;;
  esac
}

build() { # NAME BASE ARGUMENTS...
  local image=${IMAGE:-aviso/$1:${TAG:-dev}} base=$2
  shift 2
  [ -z "$base" ] || make_base "$base" >&2
  "${docker_build[@]}" --quiet ${base:+--build-arg "BASE=$base"} --tag "$image" \
    --build-arg VERSION="$version" --build-arg REVISION="$revision" "$@" . >/dev/null
  echo "$image"
  if [ "${PUSH_IMAGE:-}" = true ]; then docker push --quiet "$image" >&2; fi
  [ -z "${LOAD_IMAGE:-}" ] || "$LOAD_IMAGE" "$(deployed "$image")"
}

# What an image is called in the cluster: Skaffold names what it does not push by its content.
deployed() { # IMAGE
  local id
  if [ -z "${IMAGE:-}" ] || [ "${PUSH_IMAGE:-}" = true ]; then echo "$1"; return; fi
  id=$(docker image inspect --format '{{.Id}}' "$1")
  docker tag "$1" "${1%:*}:${id#sha256:}"
  echo "${1%:*}:${id#sha256:}"
}

service() { # NAME PACKAGE
  local working=()
  [ "${RELOADING:-}" != true ] || working=(--target reloading --build-arg OWNER=65532 --build-arg PYC=checked-hash)
  build "$1" "${BASE:-}" --build-arg PACKAGE="$2" "${working[@]}"
}

version=$(sed -n 's/^appVersion: "\(.*\)"$/\1/p' charts/aviso/Chart.yaml)
revision=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ $# -gt 0 ] || set -- ingest gateway schema operator avisod spark nats edge client
[ -z "${IMAGE:-}" ] || [ $# -eq 1 ] || { echo "IMAGE names one image: name one to build" >&2; exit 2; }
for name in "$@"; do
  case $name in
    ingest | schema | operator) service "$name" "aviso-$name" ;;
    gateway) service gateway aviso-stream-gateway ;;
    avisod) service avisod aviso-all-in-one ;;
    spark) build spark "${SPARK_BASE:-}" --file spark-jobs/Dockerfile ;;
    nats | edge | client) build "$name" "${BASE:-}" --file "tests/system/images/$name/Dockerfile" ;;
    *) echo "there is no image $name" >&2; exit 2 ;;
  esac
done
