# allot for vcpkg, as an overlay port: vcpkg install allot --overlay-ports=packaging/vcpkg/ports
#
# It takes the sources of the repository that the port is in. allot has no public archive yet; once it has, write here
#   vcpkg_from_github(OUT_SOURCE_PATH SOURCE_PATH REPO <owner>/allot REF v${VERSION} SHA512 <hash>)
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)
if(NOT EXISTS "${SOURCE_PATH}/include/allot/version.hpp")
    message(FATAL_ERROR "allot: ${SOURCE_PATH} is not allot's repository. Use the port inside it, by --overlay-ports.")
endif()

set(compiled OFF)
if("compiled" IN_LIST FEATURES)
    string(TOUPPER ${VCPKG_LIBRARY_LINKAGE} kind) # static, dynamic
    string(REPLACE "DYNAMIC" "SHARED" compiled ${kind})
else()
    set(VCPKG_BUILD_TYPE release) # headers only
endif()
vcpkg_check_features(OUT_FEATURE_OPTIONS options FEATURES lz4 ALLOT_WITH_LZ4 uring ALLOT_WITH_URING)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS -DALLOT_TESTS=OFF -DALLOT_EXAMPLES=OFF -DALLOT_COMPILED_LIBRARY=${compiled} ${options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME allot CONFIG_PATH share/cmake/allot)
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc" "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
