# The tests of the tpch example, under the label "example". Included by examples/tpch. Data of scale 0.001 as text, and in
# Parquet where that can be made (tpch.cmake).
set(tpch_answers ${PROJECT_SOURCE_DIR}/examples/tpch/expected)
# tpch_test(name [CODE n] [OUT regex...] [ERR regex...] [SPILL] ARGS ...): as flights_test.
function(tpch_test name)
    cmake_parse_arguments(PARSE_ARGV 1 t "SPILL" "CODE" "OUT;ERR;ARGS")
    if(NOT t_CODE)
        set(t_CODE 0)
    endif()
    list(JOIN t_OUT "@@" out)
    list(JOIN t_ERR "@@" err)
    list(JOIN t_ARGS "@@" args)
    set(spill "")
    if(t_SPILL)
        set(spill ${CMAKE_CURRENT_BINARY_DIR}/spill/${name})
    endif()
    add_test(NAME example.tpch.${name} COMMAND ${CMAKE_COMMAND} -D program=$<TARGET_FILE:tpch>
        -D code=${t_CODE} -D "out=${out}" -D "err=${err}" -D "args=${args}" -D "spill=${spill}"
        -P ${PROJECT_SOURCE_DIR}/tests/examples/expect.cmake)
    set_tests_properties(example.tpch.${name} PROPERTIES LABELS example TIMEOUT 120)
endfunction()

set(tpch_text --data ${PROJECT_SOURCE_DIR}/examples/tpch/data/sf0.001 --expected ${tpch_answers}/sf0.001.json)
tpch_test(text OUT "6 queries.*0 tasks began again" ARGS ${tpch_text} --memory 16MiB --tasks 4)
tpch_test(little_memory SPILL OUT "\"written\":[1-9]" ARGS ${tpch_text} --memory 1MiB --tasks 4 --json)
tpch_test(one_thread SPILL OUT "6 queries" ARGS ${tpch_text} --memory 1MiB --threads 1 --compare)
tpch_test(raise CODE 12 OUT "q1 .*right" ERR "sort: out of memory: .*account memory uses" "    sort: .*[0-9] buffers"
    ARGS ${tpch_text} --query sort,q1 --memory 1500KiB --threads 1 --oom raise --spill none)
tpch_test(too_little CODE 12 ERR "reader of warm up.*account memory uses" ARGS ${tpch_text} --memory 100KiB)
tpch_test(no_data CODE 3 ERR "no lineitem.parquet and no lineitem.tbl" ARGS --data /nowhere)
tpch_test(no_spill_folder CODE 3 ERR "--spill: .*No such file" ARGS ${tpch_text} --spill /nowhere/at/all)
tpch_test(wrong_option CODE 2 ERR "--memory" ARGS ${tpch_text} --memory much)
if(TARGET allot_parquet AND ALLOT_TPCHGEN)
    tpch_test(parquet_queries SPILL OUT "6 queries" ARGS --data ${CMAKE_CURRENT_BINARY_DIR}/data/sf0.001 --expected ${tpch_answers}/sf0.001.json --memory 6MiB --tasks 4)
    set_tests_properties(example.tpch.parquet_queries PROPERTIES FIXTURES_REQUIRED tpch_parquet)
endif()
