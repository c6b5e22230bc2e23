# How our own programs (tests, examples, benches) are compiled. Nothing here reaches a user of allot::allot.
#
#   allot_program(target)                        warnings, sanitizers, checked builds, as the preset asks
#   allot_example(name SOURCES a.cpp... [ARGS ...] [LIBRARIES ...] [TIMEOUT s])
#                                                an executable that ctest runs, under the label "example"
#   allot_links_compiled(target [FAULTS])        where ALLOT_COMPILED_PROGRAMS is on: links the compiled library of this build, whose
#                                                switches are those of allot_program(), and with FAULTS also ALLOT_FAULTS
#   allot_program_file(target result)            the file by which a script starts the program
#   allot_label(test source...)                  gives a test the label of the target of docs/layers.txt that all its sources need, named
#                                                from the root of the repository
#   allot_wait_longer()                          at the end of a folder: time for an emulator
#   allot_bench(name [SHORT -O0] SOURCES a.cpp... [LIBRARIES ...])
#                                                an executable; never checked, never sanitized. SHORT is its optimization in
#                                                the short run of the tests, where its smoke runs for less time than -O2 takes

option(ALLOT_STRICT "Our own programs: all warnings, as errors" OFF)
option(ALLOT_CHECKED "Our own programs: checked builds of allot" OFF)
set(ALLOT_SANITIZE "" CACHE STRING "Our own programs: sanitizers, as -fsanitize= takes them")

option(ALLOT_COMPILED_PROGRAMS "Our own programs: examples and suites link the compiled library" OFF)

set(allot_warnings -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror)
set(allot_gxx_warnings -Wuseless-cast)

function(allot_program target)
    target_link_libraries(${target} PRIVATE allot::allot)
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
    if(ALLOT_STRICT)
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${allot_warnings}>
            $<$<COMPILE_LANG_AND_ID:CXX,GNU>:${allot_gxx_warnings}>)
    endif()
    if(ALLOT_CHECKED)
        target_compile_definitions(${target} PRIVATE ALLOT_CHECKED=1 _GLIBCXX_ASSERTIONS)
    endif()
    if(ALLOT_SANITIZE)
        target_compile_options(${target} PRIVATE
            -fsanitize=${ALLOT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
        target_link_options(${target} PRIVATE -fsanitize=${ALLOT_SANITIZE})
    endif()
endfunction()

function(allot_links_compiled target)
    cmake_parse_arguments(PARSE_ARGV 1 compiled "FAULTS" "" "")
    if(NOT ALLOT_COMPILED_PROGRAMS)
        return()
    endif()
    set(library allot_of_programs)
    if(compiled_FAULTS)
        set(library allot_of_programs_with_faults)
    endif()
    if(NOT TARGET ${library})
        allot_compiled_library(${library} STATIC)
        allot_program(${library})
        if(CMAKE_BUILD_TYPE STREQUAL "Debug" AND NOT ALLOT_SANITIZE)
            # By g++ models and processes link it, which run longer than they compile.
            target_compile_options(${library} PRIVATE $<IF:$<CXX_COMPILER_ID:GNU>,-O1,-O0>)
        endif()
        if(compiled_FAULTS)
            target_compile_definitions(${library} PUBLIC ALLOT_FAULTS=1)
        endif()
    endif()
    target_link_libraries(${target} PRIVATE ${library})
endfunction()

# What each source needs is asked once. Without Python the tests have no labels of targets.
find_package(Python3 3.9 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
    execute_process(COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/layers/_labels.py ${PROJECT_BINARY_DIR}/allot_needs.cmake --sources
        COMMAND_ERROR_IS_FATAL ANY)
    include(${PROJECT_BINARY_DIR}/allot_needs.cmake)
endif()

function(allot_label test)
    set(needed)
    foreach(source IN LISTS ARGN)
        list(APPEND needed ${allot_needs_${source}})
    endforeach()
    list(REMOVE_DUPLICATES needed)
    list(LENGTH needed different)
    if(different GREATER 1)
        list(REMOVE_ITEM needed allot)
        list(LENGTH needed different)
    endif()
    if(different GREATER 1)
        set(needed allot_tools) # it may include all
    endif()
    set_property(TEST ${test} APPEND PROPERTY LABELS ${needed})
endfunction()

function(allot_example name)
    cmake_parse_arguments(PARSE_ARGV 1 example "" "TIMEOUT" "SOURCES;ARGS;LIBRARIES")
    add_executable(${name} ${example_SOURCES})
    allot_program(${name})
    allot_links_compiled(${name})
    target_link_libraries(${name} PRIVATE ${example_LIBRARIES})
    add_test(NAME example.${name} COMMAND ${name} ${example_ARGS})
    if(NOT example_TIMEOUT)
        set(example_TIMEOUT 900) # a guard against hangs: ten times what the longest takes beside eight busy threads
    endif()
    set_tests_properties(example.${name} PROPERTIES LABELS example TIMEOUT ${example_TIMEOUT})
    list(TRANSFORM example_SOURCES PREPEND examples/ OUTPUT_VARIABLE sources)
    allot_label(example.${name} ${sources})
endfunction()

# The program's own file. Where an emulator runs programs: a script that starts both.
function(allot_program_file target result)
    get_property(file TARGET ${target} PROPERTY allot_program_file)
    if(NOT file)
        set(file $<TARGET_FILE:${target}>)
        if(CMAKE_CROSSCOMPILING_EMULATOR)
            list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
            set(file ${CMAKE_CURRENT_BINARY_DIR}/${target}.sh)
            file(GENERATE OUTPUT ${file} CONTENT "#!/bin/sh\nexec ${emulator} '$<TARGET_FILE:${target}>' \"$@\"\n"
                FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
        endif()
        set_property(TARGET ${target} PROPERTY allot_program_file ${file})
    endif()
    set(${result} ${file} PARENT_SCOPE)
endfunction()

# An emulator takes 10 to 30 times as long.
function(allot_wait_longer)
    if(NOT CMAKE_CROSSCOMPILING_EMULATOR)
        return()
    endif()
    get_property(tests DIRECTORY PROPERTY TESTS)
    foreach(test IN LISTS tests)
        get_property(seconds TEST ${test} PROPERTY TIMEOUT)
        math(EXPR seconds "10 * ${seconds}")
        set_property(TEST ${test} PROPERTY TIMEOUT ${seconds})
    endforeach()
endfunction()

function(allot_bench name)
    cmake_parse_arguments(PARSE_ARGV 1 bench "" "SHORT" "SOURCES;LIBRARIES")
    add_executable(${name} ${bench_SOURCES})
    target_link_libraries(${name} PRIVATE allot::allot ${bench_LIBRARIES})
    if(bench_SHORT AND ALLOT_TEST_EXTENT STREQUAL "short")
        target_compile_options(${name} PRIVATE ${bench_SHORT})
    endif()
endfunction()
