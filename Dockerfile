# The image of the function: `docker build .` is all it takes. Any base with Python 3.11 or newer and its venv module will do.
ARG BASE_IMAGE=python:3.13-slim

FROM ${BASE_IMAGE} AS build
WORKDIR /source
# One commit and one base give the same bytes, also of what Python compiles.
ENV PYTHONHASHSEED=0 SOURCE_DATE_EPOCH=315532800
RUN python3 -m venv /tools
# The two secrets are optional: pip's configuration (another index) and the certificates it should trust.
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY release/requirements.txt release/
COPY krmfn krmfn
COPY schemas schemas
COPY docs/rules docs/rules
RUN --mount=type=secret,id=pip,target=/run/secrets/pip.conf \
    --mount=type=secret,id=certificates,target=/run/secrets/certificates.pem \
    if [ -s /run/secrets/pip.conf ]; then export PIP_CONFIG_FILE=/run/secrets/pip.conf; fi; \
    if [ -s /run/secrets/certificates.pem ]; then export PIP_CERT=/run/secrets/certificates.pem; fi; \
    /tools/bin/pip wheel --quiet --no-cache-dir --require-hashes --requirement release/requirements.txt --wheel-dir /wheels \
 && /tools/bin/pip install --quiet --no-index --find-links /wheels hatchling \
 && /tools/bin/pip wheel --quiet --no-index --no-build-isolation --no-deps --wheel-dir /wheels . \
 && python3 -m venv --without-pip /opt/krmfn \
 && /tools/bin/pip --python /opt/krmfn/bin/python install --quiet --no-cache-dir --no-compile --no-index --find-links /wheels krmfn
# Compiled ahead, and never compared with the sources again: a read-only container cannot do it later.
RUN /opt/krmfn/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/krmfn/lib

FROM ${BASE_IMAGE}
ARG VERSION=unknown
LABEL org.opencontainers.image.title="krmfn" \
      org.opencontainers.image.description="Gang scheduling for Git: a KRM function and command line" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /opt/krmfn /opt/krmfn
COPY integrations/check.sh /usr/share/krmfn/
COPY release/bill_of_materials.py /tmp/
# One run of each kind lets Python compile what it uses of its own library, which slim images come without.
RUN export PYTHONHASHSEED=0 && /opt/krmfn/bin/python /tmp/bill_of_materials.py > /usr/share/krmfn/bom.cdx.json \
 && rm /tmp/bill_of_materials.py \
 && printf 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n' \
    | /opt/krmfn/bin/krmfn > /dev/null \
 && /opt/krmfn/bin/krmfn --help > /dev/null
ENV PATH=/opt/krmfn/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1
# Nobody, as kustomize has it. Any other user works as well: nothing is written, nothing is read but stdin.
USER 65534:65534
ENTRYPOINT ["krmfn"]
