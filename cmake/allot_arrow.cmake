# Finds Arrow's C++ libraries in Python's package pyarrow, which has headers and libraries: target allot_parquet, with
# libparquet and libarrow. Only examples and tests use it; nothing here reaches a user of allot::allot.
#
# ALLOT_ARROW is the folder of the package. Unless it is set, it is looked for in build/python, where ./run installs it, and
# in python3. Where there is none, allot_parquet is not defined.
include_guard(GLOBAL)
set(ALLOT_ARROW "" CACHE PATH "Folder of the Python package pyarrow, for tests and examples that use Arrow; empty: looked for")

function(allot_find_arrow)
    if(TARGET allot_parquet)
        return()
    endif()
    set(folders ${ALLOT_ARROW})
    if(NOT folders)
        file(GLOB folders ${PROJECT_SOURCE_DIR}/build/python/lib/python3*/site-packages/pyarrow)
        find_package(Python3 COMPONENTS Interpreter QUIET)
        if(Python3_FOUND)
            execute_process(COMMAND ${Python3_EXECUTABLE} -c
                "import importlib.util as u; s = u.find_spec('pyarrow'); print(s.submodule_search_locations[0] if s else '')"
                OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
            list(APPEND folders ${found})
        endif()
    endif()
    foreach(folder IN LISTS folders)
        file(GLOB arrow ${folder}/libarrow.so ${folder}/libarrow.so.*)
        file(GLOB parquet ${folder}/libparquet.so ${folder}/libparquet.so.*)
        if(arrow AND parquet AND EXISTS ${folder}/include/parquet/file_reader.h)
            list(GET arrow 0 arrow)
            list(GET parquet 0 parquet)
            add_library(allot_arrow SHARED IMPORTED GLOBAL)
            set_target_properties(allot_arrow PROPERTIES IMPORTED_LOCATION ${arrow})
            target_include_directories(allot_arrow SYSTEM INTERFACE ${folder}/include)
            add_library(allot_parquet SHARED IMPORTED GLOBAL)
            set_target_properties(allot_parquet PROPERTIES IMPORTED_LOCATION ${parquet})
            target_link_libraries(allot_parquet INTERFACE allot_arrow)
            message(STATUS "allot: Arrow from ${folder}")
            return()
        endif()
    endforeach()
    if(ALLOT_ARROW)
        message(FATAL_ERROR "ALLOT_ARROW: ${ALLOT_ARROW} is no folder of pyarrow with headers and libraries")
    endif()
endfunction()
