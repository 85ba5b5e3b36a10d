# SPDX-License-Identifier: Apache-2.0
# Finds LibTorch inside an installed PyPI wheel and defines LibTorch::LibTorch (libtorch_cpu and libc10).
# TorchConfig.cmake is left alone on purpose: it enables CUDA with architectures that current toolkits
# refuse and sets flags for the whole project. Only the CPU libraries are linked; a CUDA build of
# LibTorch is loaded at run time where a GPU is asked for.
#   LAMINA_TORCH_DIR   the wheel's `torch` folder; otherwise .venv of the source tree is searched, then
#                      the torch that python3 imports.

set(LAMINA_TORCH_DIR "" CACHE PATH "The torch folder of an installed PyPI wheel")
if(NOT LAMINA_TORCH_DIR)
  file(GLOB _torch_dirs ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
  if(NOT _torch_dirs)
    find_program(_torch_python python3)
    if(_torch_python)
      execute_process(
        COMMAND ${_torch_python} -c
                "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
        OUTPUT_VARIABLE _torch_dirs OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    endif()
  endif()
  if(_torch_dirs)
    list(GET _torch_dirs 0 _torch_dir)
    set(LAMINA_TORCH_DIR ${_torch_dir} CACHE PATH "The torch folder of an installed PyPI wheel" FORCE)
  endif()
endif()

find_path(LibTorch_INCLUDE_DIR ATen/ATen.h PATHS ${LAMINA_TORCH_DIR}/include NO_DEFAULT_PATH)
find_library(LibTorch_CPU_LIBRARY torch_cpu PATHS ${LAMINA_TORCH_DIR}/lib NO_DEFAULT_PATH)
find_library(LibTorch_C10_LIBRARY c10 PATHS ${LAMINA_TORCH_DIR}/lib NO_DEFAULT_PATH)
if(EXISTS ${LAMINA_TORCH_DIR}/version.py)
  file(STRINGS ${LAMINA_TORCH_DIR}/version.py _torch_version REGEX "^__version__")
  string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" LibTorch_VERSION "${_torch_version}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE
    "Run installer/setup.sh, which installs the wheel into .venv, or set LAMINA_TORCH_DIR to a wheel's torch folder.")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::C10 SHARED IMPORTED)
  set_target_properties(LibTorch::C10 PROPERTIES IMPORTED_LOCATION ${LibTorch_C10_LIBRARY})
  add_library(LibTorch::LibTorch SHARED IMPORTED)
  set_target_properties(
    LibTorch::LibTorch
    PROPERTIES IMPORTED_LOCATION ${LibTorch_CPU_LIBRARY}
               INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${LibTorch_INCLUDE_DIR}
               INTERFACE_INCLUDE_DIRECTORIES ${LibTorch_INCLUDE_DIR}
               INTERFACE_COMPILE_DEFINITIONS _GLIBCXX_USE_CXX11_ABI=1
               INTERFACE_LINK_LIBRARIES LibTorch::C10)
endif()
