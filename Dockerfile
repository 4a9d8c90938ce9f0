# A service as an image, from the root of the repository:
#
#   docker build --build-arg PACKAGE=aviso-ingest --tag aviso/ingest:dev .
#
# BASE is any image with Python 3.11 or newer and its module venv. docs/how-to/build-images.md tells of the other
# arguments. Where pip needs a mirror or another certificate authority, they are handed in as the secrets pip.conf and
# ca.crt, of which nothing stays in the image.
ARG BASE=python:3.11-slim-bookworm
ARG PACKAGE=aviso-all-in-one

# --- what builds, and is left behind ---

FROM ${BASE} AS tools
COPY requirements/bootstrap.txt requirements/images/setuptools.txt /requirements/
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca.crt,target=/etc/ssl/certs/ca-certificates.crt \
    python3 -m venv /tools \
    && /tools/bin/pip install --no-cache-dir --require-hashes \
        --requirement /requirements/bootstrap.txt --requirement /requirements/setuptools.txt

# Our own packages as wheels. uv builds them by itself, so nothing is downloaded.
FROM tools AS wheels
ARG SOURCE_DATE_EPOCH=0
COPY libs /source/libs
COPY services /source/services
COPY operator /source/operator
RUN for member in /source/libs/* /source/services/* /source/operator; do \
        /tools/bin/uv build --quiet --offline --wheel --out-dir /wheels "$member" || exit 1; \
    done

# A layer of its own for what others have written: it stays the same from one change of ours to the next. What has no
# wheel is made into one with the tools above, for what pip would fetch to build it with is not pinned.
FROM tools AS dependencies
RUN apt-get update -qq && apt-get install -qq --yes --no-install-recommends binutils >/dev/null
ARG PACKAGE
ARG SOURCE_DATE_EPOCH=0
COPY requirements/images/${PACKAGE}.txt /requirements/package.txt
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=ca.crt,target=/etc/ssl/certs/ca-certificates.crt \
    /tools/bin/pip wheel --quiet --no-cache-dir --no-build-isolation --require-hashes \
        --requirement /requirements/package.txt --wheel-dir /theirs \
    && python3 -m venv --without-pip /app/venv \
    && /tools/bin/pip --python /app/venv/bin/python install --quiet --no-compile --no-index --no-deps /theirs/*.whl
# What no service loads: half of the weight. That every module of ours can do without is tried below. (The operator asks
# the API server by path, so it needs no client's class for each kind of resource.)
#
# Then compiled files that say of themselves that they are up to date, and one time for all files: the same layer every
# time. It is put together below a folder, for only what is copied out of one keeps the times of all its folders.
RUN cd /app/venv/lib/python3*/site-packages \
    && find . -type d -name tests -prune -exec rm -rf {} + \
    && find . -type f -regex '.*[.]\(a\|c\|cpp\|h\|hpp\|pxd\|pxi\|pyi\|pyx\)' -delete \
    && find . -type d -path './faker/providers/*_*' ! -name en_US -prune -exec rm -rf {} + \
    && rm -rf kubernetes/aio kubernetes/client/api numpy/f2py zstandard/_cffi.*.so \
        pyarrow/include pyarrow/includes pyarrow/src pyarrow/*.so.*.*.* \
        pyarrow/libarrow_*flight* pyarrow/_flight.* pyarrow/libarrow_s3.* pyarrow/_s3fs.* \
    && find . -type f '(' -name '*.cpython-*.so' -o -name '*.abi3.so' ')' -exec strip --strip-unneeded {} + \
    && /app/venv/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /app/venv/lib \
    && find /app -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} + \
    && mkdir /layer && cp --archive --link /app /layer/

# Only what we add to it: below /added, as it will lie below /.
FROM dependencies AS package
ARG PYC=unchecked-hash
COPY --from=wheels /wheels /wheels
RUN /tools/bin/pip --python /app/venv/bin/python install --no-cache-dir --no-compile --no-index --find-links /wheels \
        --root /added "$PACKAGE" 'aviso-http[otlp]' \
    && /app/venv/bin/python -m compileall -q --invalidation-mode "$PYC" -s /added /added/app/venv/lib \
    && find /added -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
RUN cp --archive /added/. / \
    && /tools/bin/pip --python /app/venv/bin/python check \
    && /app/venv/bin/python -c 'from importlib import import_module; from pkgutil import iter_modules, walk_packages; [ \
        import_module(module.name) \
        for package in iter_modules() if package.name.startswith("aviso_") \
        for module in walk_packages(import_module(package.name).__path__, package.name + ".") \
        if not module.name.endswith(".__main__")]'

# --- what runs ---

FROM ${BASE} AS runtime
ARG SOURCE_DATE_EPOCH=0
# An image of Python brings pip, or the wheels to make it of; nothing is installed into a service.
RUN for path in /usr/local/bin/pip* /usr/local/lib/python3*/site-packages/* /usr/local/lib/python3*/ensurepip \
        /usr/lib/python3*/ensurepip /usr/share/python-wheels; do \
        if [ -e "$path" ]; then \
            rm -rf "$path" && touch --date "@$SOURCE_DATE_EPOCH" "$(dirname "$path")"; \
        fi; \
    done
ARG OWNER=0
COPY --from=dependencies --chown=${OWNER}:${OWNER} /layer /
COPY --from=package --chown=${OWNER}:${OWNER} /added /
# The home is where nobody can put a configuration that a service would find.
ENV PATH=/app/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    HOME=/app \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
WORKDIR /app
USER 65532:65532

FROM runtime AS aviso-ingest
EXPOSE 8000 9090
ENTRYPOINT ["python", "-m", "aviso_ingest"]

FROM runtime AS aviso-stream-gateway
EXPOSE 8000 9090
ENTRYPOINT ["python", "-m", "aviso_stream_gateway"]

FROM runtime AS aviso-schema
EXPOSE 8000 9090
ENTRYPOINT ["python", "-m", "aviso_schema"]

FROM runtime AS aviso-operator
EXPOSE 8080
ENTRYPOINT ["aviso-operator", "run"]

FROM runtime AS aviso-all-in-one
EXPOSE 8000 9090
ENTRYPOINT ["avisod"]
CMD ["serve"]

# For working on a service: its files belong to its user, and it starts anew on SIGHUP.
FROM ${PACKAGE} AS reloading
ARG PACKAGE
COPY skaffold/reloading.sh /usr/local/bin/
ENV PACKAGE=${PACKAGE}
ENTRYPOINT ["reloading.sh"]

FROM ${PACKAGE}
ARG BASE
ARG PACKAGE
ARG VERSION=0
ARG REVISION=unknown
ARG SOURCE=
LABEL org.opencontainers.image.title="${PACKAGE}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${BASE}"
