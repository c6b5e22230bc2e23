# The tests of the tables of the tpch example, under the label "example". Included by examples/tpch/data. Those of Parquet need
# data, which tpchgen-cli makes in a moment; their parts are small, so that there are several,
# and their encodings are those that texts can have.
set(tpch_expected ${PROJECT_SOURCE_DIR}/examples/tpch/expected)
set(tpch_parquet)
if(TARGET allot_parquet)
    find_program(ALLOT_TPCHGEN tpchgen-cli HINTS ${PROJECT_SOURCE_DIR}/build/python/bin ${ALLOT_ARROW}/../../../../bin)
    mark_as_advanced(ALLOT_TPCHGEN)
    if(ALLOT_TPCHGEN)
        set(tpch_parquet ${CMAKE_CURRENT_BINARY_DIR}/sf0.001)
        add_test(NAME example.tpch.parquet COMMAND ${ALLOT_TPCHGEN} parquet -q --overwrite -s 0.001 --row-group-bytes 100KB
            --column-encoding l_comment=DELTA_BYTE_ARRAY,o_comment=PLAIN,c_comment=DELTA_LENGTH_BYTE_ARRAY -o ${tpch_parquet})
        set_tests_properties(example.tpch.parquet PROPERTIES LABELS example TIMEOUT 300 FIXTURES_SETUP tpch_parquet)
    else()
        message(STATUS "allot: no tpchgen-cli, so the tpch example is tested without Parquet files")
    endif()
endif()

# Every column of all tables, and the answers to `sort` and `join`.
add_executable(tpch_checksums checksums.cpp)
allot_program(tpch_checksums)
allot_links_compiled(tpch_checksums)
target_link_libraries(tpch_checksums PRIVATE tpch_data)
add_test(NAME example.tpch.checksums.tbl COMMAND tpch_checksums ${CMAKE_CURRENT_SOURCE_DIR}/sf0.001 ${tpch_expected} 0.001)
set_tests_properties(example.tpch.checksums.tbl PROPERTIES LABELS example TIMEOUT 300)
if(tpch_parquet)
    add_test(NAME example.tpch.checksums.parquet COMMAND tpch_checksums ${tpch_parquet} ${tpch_expected} 0.001)
    set_tests_properties(example.tpch.checksums.parquet PROPERTIES LABELS example TIMEOUT 300 FIXTURES_REQUIRED tpch_parquet)
endif()

# Wrong files, limits, tasks.
add_executable(tpch_tables ${PROJECT_SOURCE_DIR}/tests/examples/tpch_tables.cpp)
allot_program(tpch_tables)
allot_links_compiled(tpch_tables)
target_link_libraries(tpch_tables PRIVATE tpch_data)
add_test(NAME example.tpch.tables COMMAND tpch_tables ${CMAKE_CURRENT_BINARY_DIR}/tables ${tpch_parquet})
set_tests_properties(example.tpch.tables PROPERTIES LABELS example TIMEOUT 300 FIXTURES_REQUIRED tpch_parquet)
allot_wait_longer()
get_property(tests DIRECTORY PROPERTY TESTS)
set_property(TEST ${tests} APPEND PROPERTY LABELS allot_tools) # the program has recordings and the HTML page
