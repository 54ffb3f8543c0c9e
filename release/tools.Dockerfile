# The image of the function with what a check of a repository starts: git, kustomize and helm. `./dev release` builds it,
# with the two programs beside this file's context.
ARG BASE_IMAGE=krmfn:dev
FROM ${BASE_IMAGE}
USER 0:0
COPY kustomize helm /usr/local/bin/
# What apt and dpkg say about when they ran is not kept: one state of the archive gives one image.
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends git >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/cache/ldconfig/* /var/lib/dpkg/*-old /var/log/* \
 && git --version >/dev/null
COPY bill_of_materials.py /tmp/
RUN /opt/krmfn/bin/python /tmp/bill_of_materials.py > /usr/share/krmfn/bom.cdx.json && rm /tmp/bill_of_materials.py
USER 65534:65534
