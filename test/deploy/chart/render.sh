#!/usr/bin/env bash
# Renders the chart with the real Helm, for test/deploy/chart.test.ts, which needs no Helm: it reads what is written
# here and tells by the digest when the chart has changed since. Needs helm 3 on the path.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
chart=deploy/helm/posthorn
for values in test/deploy/chart/*.values.yaml; do
  helm lint --strict --quiet "$chart" --kube-version 1.30.0 --values "$values"
  helm template hooks "$chart" --kube-version 1.30.0 --values "$values" >"${values%.values.yaml}.rendered.yaml"
done
node test/deploy/chart/digest.ts >test/deploy/chart/digest.txt
