# Finds Arrow's C++ libraries in Python's package pyarrow, which has headers and libraries: targets allot_parquet, with
# libparquet and libarrow, and allot_acero, its queries. Only examples, tests and benches use them; nothing here reaches a user
# of allot::allot.
#
# ALLOT_ARROW is the folder of the package. Unless it is set, it is looked for in build/python, where ./run installs it, and
# in python3. Where there is none, allot_parquet is not defined.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/allot_python_package.cmake)
set(ALLOT_ARROW "" CACHE PATH "Folder of the Python package pyarrow, for tests and examples that use Arrow; empty: looked for")

function(allot_find_arrow)
    if(TARGET allot_parquet OR (CMAKE_CROSSCOMPILING AND NOT ALLOT_ARROW)) # python3 has this machine's libraries
        return()
    endif()
    allot_python_package(pyarrow "${ALLOT_ARROW}" folders)
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
            file(GLOB acero ${folder}/libarrow_acero.so ${folder}/libarrow_acero.so.*)
            file(GLOB compute ${folder}/libarrow_compute.so ${folder}/libarrow_compute.so.*)
            if(acero AND compute)
                list(GET acero 0 acero)
                list(GET compute 0 compute)
                add_library(allot_acero SHARED IMPORTED GLOBAL)
                set_target_properties(allot_acero PROPERTIES IMPORTED_LOCATION ${acero})
                target_link_libraries(allot_acero INTERFACE ${compute} allot_arrow)
            endif()
            message(STATUS "allot: Arrow from ${folder}")
            return()
        endif()
    endforeach()
    if(ALLOT_ARROW)
        message(FATAL_ERROR "ALLOT_ARROW: ${ALLOT_ARROW} is no folder of pyarrow with headers and libraries")
    endif()
endfunction()
