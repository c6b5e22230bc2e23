# ALLOT_CUDA: build the tests and the part of examples/tpch that need nvcc. On by itself where an nvcc that knows C++20 is found,
# beside PATH too. Only our own programs ask for it: a user's project enables CUDA itself and links allot::cuda.
if(CMAKE_CUDA_COMPILER)
    set(allot_nvcc ${CMAKE_CUDA_COMPILER})
elseif(DEFINED ENV{CUDACXX})
    set(allot_nvcc $ENV{CUDACXX})
else()
    find_program(ALLOT_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
    mark_as_advanced(ALLOT_NVCC)
    set(allot_nvcc ${ALLOT_NVCC})
endif()

set(allot_nvcc_found OFF)
if(allot_nvcc)
    execute_process(COMMAND ${allot_nvcc} --help OUTPUT_VARIABLE allot_nvcc_help ERROR_QUIET)
    if(allot_nvcc_help MATCHES "c\\+\\+20")
        set(allot_nvcc_found ON)
    else()
        message(STATUS "allot: ${allot_nvcc} knows no C++20, so what needs CUDA is skipped")
    endif()
endif()
option(ALLOT_CUDA "Our own tests and examples: what needs nvcc" ${allot_nvcc_found})

if(ALLOT_CUDA)
    set(CMAKE_CUDA_COMPILER ${allot_nvcc} CACHE FILEPATH "CUDA compiler")
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "Set because 'native' fails where there is no GPU")
    enable_language(CUDA)
endif()

# allot::cuda_runtime: what a program links that uses device::cuda, by any compiler; its own nvcc is not needed. A user's
# project says find_package(CUDAToolkit) itself and links allot::allot and CUDA::cudart_static.
find_package(CUDAToolkit 12.8 QUIET)
if(TARGET CUDA::cudart_static)
    add_library(allot_cuda_runtime INTERFACE)
    add_library(allot::cuda_runtime ALIAS allot_cuda_runtime)
    target_link_libraries(allot_cuda_runtime INTERFACE allot CUDA::cudart_static)
else()
    message(STATUS "allot: no CUDA toolkit 12.8 or later, so what uses device::cuda is skipped")
endif()

if(NOT ALLOT_TESTS)
    return()
endif()

# CCCL, for the faces of cuda::mr and Thrust: the toolkit's, and a newer one beside it, which ./run test unpacks from PyPI's
# nvidia-cuda-cccl, because its concepts have changed.
find_path(ALLOT_CCCL cuda/memory_resource HINTS ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES cccl NO_DEFAULT_PATH)
find_path(ALLOT_NEWER_CCCL cuda/memory_resource HINTS ${PROJECT_SOURCE_DIR}/build/deps/cccl
    PATH_SUFFIXES nvidia/cu13/include/cccl NO_DEFAULT_PATH)
mark_as_advanced(ALLOT_CCCL ALLOT_NEWER_CCCL)
if(NOT ALLOT_CCCL)
    message(STATUS "allot: no CCCL in the CUDA toolkit, so the tests of cuda::mr and Thrust are skipped")
elseif(NOT ALLOT_NEWER_CCCL)
    message(STATUS "allot: no CCCL newer than the toolkit's (./run test cuda fetches it), so cuda::mr is tested with one")
endif()
