# Finds RMM in Python's package librmm-cu13, which has headers, the CCCL that it was compiled with, and the library; and
# rapids-logger, which that needs: target allot_rmm. Only a test uses it.
#
# ALLOT_RMM is the folder of the package librmm. Unless it is set, it is looked for in build/python and in python3. Where
# there is none, allot_rmm is not defined.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/allot_python_package.cmake)
set(ALLOT_RMM "" CACHE PATH "Folder of the Python package librmm, for the test of adapt/cuda_mr.hpp; empty: looked for")

function(allot_find_rmm)
    if(TARGET allot_rmm)
        return()
    endif()
    allot_python_package(librmm "${ALLOT_RMM}" folders)
    foreach(folder IN LISTS folders)
        set(logger ${folder}/../rapids_logger)
        if(EXISTS ${folder}/lib64/librmm.so AND EXISTS ${folder}/include/rmm/resource_ref.hpp
           AND EXISTS ${logger}/lib64/librapids_logger.so)
            add_library(allot_rapids_logger SHARED IMPORTED GLOBAL)
            set_target_properties(allot_rapids_logger PROPERTIES IMPORTED_LOCATION ${logger}/lib64/librapids_logger.so)
            target_include_directories(allot_rapids_logger SYSTEM INTERFACE ${logger}/include)
            add_library(allot_rmm SHARED IMPORTED GLOBAL)
            set_target_properties(allot_rmm PROPERTIES IMPORTED_LOCATION ${folder}/lib64/librmm.so)
            # Before the toolkit's CCCL: types of another version are other types.
            target_include_directories(allot_rmm SYSTEM INTERFACE ${folder}/include ${folder}/include/rapids)
            target_link_libraries(allot_rmm INTERFACE allot_rapids_logger)
            message(STATUS "allot: RMM from ${folder}")
            return()
        endif()
    endforeach()
    if(ALLOT_RMM)
        message(FATAL_ERROR "ALLOT_RMM: ${ALLOT_RMM} is no folder of librmm with headers and library, beside rapids_logger")
    endif()
endfunction()
