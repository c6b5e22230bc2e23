# allot_python_package(NAME GIVEN folders): the folders where a Python package with headers and libraries may be: GIVEN, if it
# is not empty; else those of build/python, where ./run installs packages, and of python3.
include_guard(GLOBAL)

function(allot_python_package name given folders)
    set(all ${given})
    if(NOT all)
        file(GLOB all ${PROJECT_SOURCE_DIR}/build/python/lib/python3*/site-packages/${name})
        find_package(Python3 COMPONENTS Interpreter QUIET)
        if(Python3_FOUND)
            execute_process(COMMAND ${Python3_EXECUTABLE} -c
                "import importlib.util as u; s = u.find_spec('${name}'); print(s.submodule_search_locations[0] if s else '')"
                OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
            list(APPEND all ${found})
        endif()
    endif()
    set(${folders} ${all} PARENT_SCOPE)
endfunction()
