#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds everything with warnings as errors and runs every test.
#   installer/check.sh            the engine without Qt, then everything with its tests
#   installer/check.sh --full     also address and undefined-behaviour sanitizers, fuzz runs, clang-tidy
set -euo pipefail
cd "$(dirname "$0")/.."
full=0
for argument in "$@"; do
  case "$argument" in
    --full) full=1 ;;
    *) echo "check: error: unknown option $argument: use --full or nothing" >&2; exit 2 ;;
  esac
done

started=$SECONDS
say() { printf '\n== [%d s] %s\n' $((SECONDS - started)) "$*"; }

if [ "$full" = 1 ]; then installer/setup.sh --full; else installer/setup.sh --tests; fi
command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache
jobs=$(nproc)

say "Building the engine and the command line without Qt"
cmake --preset engine-only
cmake --build --preset engine-only -j "$jobs"
say "Checking the command line of the build without Qt"
ctest --preset engine-only

if [ "$full" = 1 ]; then
  say "Sanitizers: address and undefined behaviour"
  cmake --preset asan
  cmake --build --preset asan -j "$jobs"
  ctest --preset asan -j "$jobs"
  say "Fuzz targets"
  installer/fuzz.sh 120
fi

say "Building everything with its tests"
cmake --preset dev
cmake --build --preset dev -j "$jobs"
if [ "$full" = 1 ]; then
  say "clang-tidy"
  git ls-files 'app/cli/*.cc' 'engine/*.cc' 'kernels/*.cc' |
    xargs -P "$jobs" -n 4 clang-tidy -p build/dev --quiet
fi
say "Running the tests"
ctest --preset dev -j "$jobs"
say "Done"
