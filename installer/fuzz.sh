#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fuzz targets with clang and runs each for a while under address and undefined-behaviour
# sanitizers. A crash stops the script; its input lies in build/fuzz/.
#   installer/fuzz.sh [SECONDS]     seconds a target, 60 by default
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
root=$PWD

cmake --preset fuzz
cmake --build --preset fuzz -j "$(nproc)"
cd build/fuzz
mkdir -p corpus/tokenizer
bin/fuzz_seeds corpus
bin/fuzz_gguf -max_total_time="$seconds" -rss_limit_mb=4096 corpus/gguf
bin/fuzz_safetensors -max_total_time="$seconds" -rss_limit_mb=4096 corpus/safetensors
bin/fuzz_tokenizer -max_total_time="$seconds" -rss_limit_mb=4096 corpus/tokenizer "$root/tests/fuzz/seeds/tokenizer"
