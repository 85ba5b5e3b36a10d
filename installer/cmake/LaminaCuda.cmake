# SPDX-License-Identifier: Apache-2.0
# LAMINA_CUDA = AUTO | ON | OFF. No CUDA kernel is part of this version, so AUTO builds for the CPU and
# says so, and ON refuses: a build that was asked for a GPU must never come out without one.
if(LAMINA_CUDA STREQUAL "ON")
  find_program(LAMINA_NVCC nvcc PATHS /usr/local/cuda/bin)
  if(NOT LAMINA_NVCC)
    message(FATAL_ERROR "LAMINA_CUDA=ON, but no nvcc was found: install the CUDA toolkit or use LAMINA_CUDA=AUTO")
  endif()
  message(FATAL_ERROR "LAMINA_CUDA=ON, but this version has no CUDA backend: use LAMINA_CUDA=AUTO")
elseif(LAMINA_CUDA STREQUAL "AUTO")
  message(STATUS "CUDA: this version has no CUDA backend; building for the CPU")
elseif(NOT LAMINA_CUDA STREQUAL "OFF")
  message(FATAL_ERROR "LAMINA_CUDA must be AUTO, ON or OFF, not '${LAMINA_CUDA}'")
endif()
