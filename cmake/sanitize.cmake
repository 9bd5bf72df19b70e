# CELLD_SANITIZE: empty, "address" (with undefined), or "thread".
set(CELLD_SANITIZE "" CACHE STRING "sanitizer of this build: empty, address or thread")
if(CELLD_SANITIZE STREQUAL "address")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined)
    add_link_options(-fsanitize=address,undefined)
elseif(CELLD_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread)
    add_link_options(-fsanitize=thread)
endif()

# CELLD_FUZZ: counters for libFuzzer in every object; clang only.
option(CELLD_FUZZ "instrument for libFuzzer" OFF)
if(CELLD_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
