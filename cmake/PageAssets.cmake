# The report page's style and scripts, and D3 as the system has it (Debian: node-d3), in one source file.
find_file(STEPCAST_D3 NAMES d3.min.js
  PATHS /usr/share/nodejs/d3/dist /usr/share/javascript/d3 REQUIRED NO_DEFAULT_PATH
  DOC "D3 5, minified, for the report page")
find_file(STEPCAST_D3_LICENCE NAMES copyright
  PATHS /usr/share/doc/node-d3 /usr/share/doc/libjs-d3 REQUIRED NO_DEFAULT_PATH
  DOC "licence text of D3")
set(page ${PROJECT_SOURCE_DIR}/sim/page)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
  ${page}/page.css ${page}/shared.js ${page}/common.js ${page}/timeline.js ${page}/run.js ${page}/sweep.js ${page}/plan.js ${page}/study.js ${STEPCAST_D3})
file(READ ${page}/page.css STEPCAST_PAGE_STYLE)
file(READ ${page}/shared.js shared)
file(READ ${page}/common.js common)
file(READ ${page}/timeline.js timeline)
file(READ ${page}/run.js run)
file(READ ${page}/sweep.js sweep)
file(READ ${page}/plan.js plan)
file(READ ${page}/study.js study)
set(STEPCAST_PAGE_SCRIPT "${shared}${common}${timeline}${run}${sweep}${plan}${study}")
file(READ ${STEPCAST_D3} STEPCAST_PAGE_LIBRARY)
file(READ ${STEPCAST_D3_LICENCE} STEPCAST_PAGE_LICENCE)
string(REPLACE "--" "- -" STEPCAST_PAGE_LICENCE "${STEPCAST_PAGE_LICENCE}")
configure_file(${page}/page_assets.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/page_assets.cpp @ONLY)
