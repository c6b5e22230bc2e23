# The tests in which a compiler or a script is what runs: one ctest entry a file and compiler.

# --- compilers found ---------------------------------------------------------------------------------------
set(allot_compilers ${CMAKE_CXX_COMPILER})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    find_program(ALLOT_CLANG clang++ DOC "clang++, for the tests that compile")
    mark_as_advanced(ALLOT_CLANG)
    if(ALLOT_CLANG)
        list(APPEND allot_compilers ${ALLOT_CLANG})
    endif()
endif()
if(ALLOT_CUDA)
    list(APPEND allot_compilers ${CMAKE_CUDA_COMPILER})
endif()
foreach(compiler IN LISTS allot_compilers)
    cmake_path(GET compiler FILENAME name)
    if(ALLOT_TEST_COMPILERS AND NOT name IN_LIST ALLOT_TEST_COMPILERS)
        list(REMOVE_ITEM allot_compilers ${compiler})
    endif()
endforeach()

# --- headers -------------------------------------------------------------------------------------------------
# Each alone, by a generated file that includes it twice: it needs nothing before it and bears repetition. That is the
# same for all compilers, so nvcc, which is slow, and all where the table says "together" have them in one file: what is
# asked there is that nothing in them is beyond the compiler.
function(allot_header_test group compiler headers title) # with more flags
    cmake_path(GET compiler FILENAME name)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${title}.cpp)
    list(TRANSFORM headers REPLACE "(.+)" "#include <\\1>\n" OUTPUT_VARIABLE lines)
    list(JOIN lines "" lines)
    file(CONFIGURE OUTPUT ${source} CONTENT "@lines@@lines@" @ONLY)
    set(flags ${ARGN})
    if(headers MATCHES "device/cuda[^/]*.hpp|adapt/(cuda|thrust)_mr")
        list(TRANSFORM CUDAToolkit_INCLUDE_DIRS PREPEND "-isystem" OUTPUT_VARIABLE cuda)
        list(APPEND flags ${cuda} -isystem ${ALLOT_CCCL} -DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP)
    endif()
    if(name MATCHES "^g\\+\\+")
        list(APPEND flags ${allot_gxx_warnings})
    endif()
    if(name MATCHES "nvcc")
        # -Wpedantic and -Wundef are left out: they dislike CUDA's own headers and intermediate code.
        set(command ${compiler} -std=c++20 -x cu -arch=sm_80 -Werror all-warnings
            -Xcompiler -Wall,-Wextra,-Werror -c -o ${source}.o)
    else()
        set(command ${compiler} -std=c++20 ${flags} ${allot_warnings} -fsyntax-only)
    endif()
    add_test(NAME "${group}.${title}, ${name}" COMMAND ${command} -I${PROJECT_SOURCE_DIR}/include ${source})
    set_tests_properties("${group}.${title}, ${name}" PROPERTIES LABELS "${group};compile" TIMEOUT 1800)
    list(TRANSFORM headers PREPEND "include/")
    allot_label("${group}.${title}, ${name}" ${headers})
endfunction()

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include
    ${PROJECT_SOURCE_DIR}/include/allot/*.hpp)
if(NOT TARGET allot::cuda_runtime)
    list(FILTER headers EXCLUDE REGEX "device/cuda[^/]*$") # allot_cuda.cmake has told why
endif()
list(FILTER headers EXCLUDE REGEX "allot/compiled[.]hpp$") # the library: consumer/ compiles it
list(FILTER headers EXCLUDE REGEX "adapt/(arrow_pool|rocksdb|sqlite)") # clients/ compiles them, where their libraries are found
if(NOT TARGET allot::cuda_runtime OR NOT ALLOT_CCCL)
    list(FILTER headers EXCLUDE REGEX "adapt/(cuda|thrust)_mr")
endif()

allot_way(headers way)
if(NOT way STREQUAL "-")
    foreach(compiler IN LISTS allot_compilers)
        if(compiler MATCHES "nvcc[^/]*$" OR way STREQUAL "together")
            allot_header_test(headers ${compiler} "${headers}" "all together")
            continue()
        endif()
        foreach(header IN LISTS headers)
            allot_header_test(headers ${compiler} ${header} ${header})
        endforeach()
    endforeach()
endif()

# And without exceptions and RTTI; consumer/ has a program that is built and run so.
allot_way(noexcept way)
if(NOT way STREQUAL "-")
    foreach(compiler IN LISTS allot_compilers)
        if(NOT compiler MATCHES "nvcc[^/]*$")
            allot_header_test(noexcept ${compiler} "${headers}" "all headers" -fno-exceptions -fno-rtti)
        endif()
    endforeach()
endif()

# --- wrong sets: one mistake, one error --------------------------------------------------------------------
function(allot_reject_test compiler title) # with what run.py is told
    cmake_path(GET compiler FILENAME name)
    add_test(NAME "reject.${title}, ${name}" WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/reject
        COMMAND Python3::Interpreter run.py --compiler ${compiler} --include ${PROJECT_SOURCE_DIR}/include ${ARGN})
    set_tests_properties("reject.${title}, ${name}" PROPERTIES LABELS "reject;compile" TIMEOUT 1800)
    list(REMOVE_ITEM ARGN --right)
    list(TRANSFORM ARGN PREPEND "tests/reject/" OUTPUT_VARIABLE sources)
    allot_label("reject.${title}, ${name}" ${sources})
endfunction()

allot_way(reject way)
if(NOT way STREQUAL "-")
    file(GLOB_RECURSE wrong CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/reject reject/*.cpp)
    list(LENGTH wrong last)
    math(EXPR last "${last} - 1")
    list(LENGTH allot_compilers compilers)
    set(from 0)
    set(step 1)
    foreach(compiler IN LISTS allot_compilers)
        if(way STREQUAL "eighth")
            math(EXPR step "8 * ${compilers}")
        endif()
        foreach(i RANGE ${from} ${last} ${step})
            list(GET wrong ${i} file)
            allot_reject_test(${compiler} ${file} ${file})
        endforeach()
        allot_reject_test(${compiler} "all without their mistakes" --right ${wrong})
        if(way STREQUAL "eighth")
            math(EXPR from "${from} + 8") # they take turns
        endif()
    endforeach()
endif()

# --- planted bugs ------------------------------------------------------------------------------------------
# A compiler at work, for minutes: it starts first, and has all processors.
allot_way(bugs way)
if(NOT way STREQUAL "-")
    cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)
    add_test(NAME bugs.${way} COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/bugs/run.py --${way} --jobs ${jobs})
    set_tests_properties(bugs.${way} PROPERTIES LABELS "bugs;compile" TIMEOUT 36000 COST 1000 PROCESSORS ${jobs}
        ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER};ALLOT_INCLUDE=${PROJECT_SOURCE_DIR}/include")
endif()

# --- scripts -----------------------------------------------------------------------------------------------
# Each *.py of these folders is a test: exit code 0 passed, 77 skipped. It runs in a folder of its own, and
# finds the compiler in CXX, the headers in ALLOT_INCLUDE and short or full in ALLOT_TEST_EXTENT. Files that start with _ are
# their common parts.
foreach(group IN ITEMS layers codegen docs checkers style cases browser)
    allot_way(${group} way)
    if(NOT way STREQUAL "-")
        file(GLOB scripts CONFIGURE_DEPENDS ${group}/[a-z]*.py)
        foreach(script IN LISTS scripts)
            cmake_path(GET script STEM name)
            set(folder ${CMAKE_CURRENT_BINARY_DIR}/${group}/${name})
            file(MAKE_DIRECTORY ${folder})
            add_test(NAME "${group}.${name}" COMMAND Python3::Interpreter ${script} WORKING_DIRECTORY ${folder})
            set_tests_properties("${group}.${name}" PROPERTIES LABELS "${group}" TIMEOUT 1800 SKIP_RETURN_CODE 77
                ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER};ALLOT_INCLUDE=${PROJECT_SOURCE_DIR}/include;ALLOT_TEST_EXTENT=${ALLOT_TEST_EXTENT}")
        endforeach()
    endif()
endforeach()

add_subdirectory(consumer)
