# What an example program must do, as tests of ctest under the label "example".
include_guard(GLOBAL)

# program_test(program name [CODE n] [OUT regex...] [ERR regex...] [SPILL] [FULL | BLOCKS n] ARGS ...): runs the program and holds its
# exit code and what it prints against these. Every regex must match; with no ERR, nothing may be printed to stderr. SPILL:
# with --spill and a directory of its own, which is empty afterwards. FULL: no file can be written; BLOCKS: none beyond n x 512 bytes.
function(program_test program name)
    cmake_parse_arguments(PARSE_ARGV 2 t "SPILL;FULL" "CODE;TIMEOUT;BLOCKS" "OUT;ERR;ARGS")
    if(NOT t_CODE)
        set(t_CODE 0)
    endif()
    if(NOT t_TIMEOUT)
        set(t_TIMEOUT 900) # a guard against hangs, as all of them: ten times what it takes beside eight busy threads
    endif()
    list(JOIN t_OUT "@@" out)   # a list would not survive the way through ctest
    list(JOIN t_ERR "@@" err)
    list(JOIN t_ARGS "@@" args)
    set(blocks ${t_BLOCKS})
    if(t_FULL)
        set(blocks 0)
    endif()
    set(spill "")
    if(t_SPILL)
        set(spill ${CMAKE_CURRENT_BINARY_DIR}/spill/${name})
    endif()
    allot_program_file(${program} file)
    add_test(NAME example.${program}.${name} COMMAND ${CMAKE_COMMAND} -D program=${file}
        -D code=${t_CODE} -D "out=${out}" -D "err=${err}" -D "args=${args}" -D "spill=${spill}" -D "blocks=${blocks}"
        -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/expect.cmake)
    set_tests_properties(example.${program}.${name} PROPERTIES LABELS example TIMEOUT ${t_TIMEOUT})
endfunction()

# page_test(program name file TEXT...): what program_test() of this name has written with --html is a whole page with these kinds of
# reports, and texts. Not where a browser shows them: tests/browser.
function(page_test program name file)
    list(JOIN ARGN "@@" texts)
    add_test(NAME example.${program}.${name}.page COMMAND ${CMAKE_COMMAND} -D file=${file} -D "texts=${texts}" -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/page.cmake)
    set_tests_properties(example.${program}.${name} PROPERTIES FIXTURES_SETUP ${program}_${name})
    set_tests_properties(example.${program}.${name}.page PROPERTIES LABELS example TIMEOUT 300 FIXTURES_REQUIRED ${program}_${name})
endfunction()
