# SPDX-License-Identifier: MIT
# Makefile - builds weft and runs its proofs. `make help` lists the targets.
#
# Objects and results live under build/<mode>/; modes differ in flags only, so they can stand
# side by side. Nothing is written outside build/ but bench/results/.

MODE ?= release
MODES := release debug hard asan tsan
ifeq ($(filter $(MODE),$(MODES)),)
$(error MODE=$(MODE) is unknown; it is one of: $(MODES))
endif

V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-6s %s\n' '$(1)' '$(2)')

# --- Compiler ---------------------------------------------------------------------------------
# TSan needs clang: gcc's runtime ends at about eight thousand fibers.

ifeq ($(origin CC),default)
CC := $(if $(filter tsan,$(MODE)),clang,gcc)
endif
PKG_CONFIG ?= pkg-config
OBJCOPY ?= objcopy

# Lua's headers are in LUA_INCDIR, or where pkg-config says.
lua_cflags = $(if $(LUA_INCDIR),-I'$(LUA_INCDIR)',$$($(PKG_CONFIG) --cflags $(1)))

# One optimisation over core and binding: a wait crosses a dozen small functions of theirs.
CFLAGS_release := -O2 -g -flto=auto -ffat-lto-objects -fno-plt
CHECKED := -g -fno-omit-frame-pointer -DWEFT_DEBUG
CFLAGS_debug := -O0 $(CHECKED)
CFLAGS_hard := -O1 $(CHECKED) -DWEFT_HARD -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
CFLAGS_asan := -O1 $(CHECKED) -fsanitize=address,undefined -fno-sanitize-recover=undefined
CFLAGS_tsan := -O1 $(CHECKED) -fsanitize=thread
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_tsan := -fsanitize=thread

WARN := -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes \
  -Wmissing-prototypes -Wold-style-definition -Wundef -Wvla -Werror=implicit-function-declaration \
  -Werror=incompatible-pointer-types -Werror=int-conversion -Werror=return-type -Werror=vla
ifeq ($(WERROR),1)
WARN += -Werror
endif

# The module is opened by dlopen and holds a few bytes of thread-local state: initial-exec makes
# each access one instruction, and the loader keeps room for it.
BASE := -std=c11 -Icsrc -Icsrc/include -fPIC -fvisibility=hidden -fstack-clash-protection \
  -ftls-model=initial-exec
COMPILE = $(CC) $(BASE) $(WARN) $(CFLAGS_$(MODE)) $(CFLAGS) -MMD -MP
LINK = $(CC) $(CFLAGS_$(MODE)) $(CFLAGS) $(LDFLAGS_$(MODE)) $(LDFLAGS)
# Units and examples take the library as hosts do, without another optimisation over all of it.
LINK_PROGRAM = $(LINK) -fno-lto

# What the library needs of others; zstd for saves alone.
LIBS := -lzstd -lm -pthread

# --- Sources ----------------------------------------------------------------------------------
# One context switch per ABI; SWITCH=ucontext takes the portable one where a fast one exists.

B := build/$(MODE)$(if $(SWITCH),-$(SWITCH))
ARCH ?= $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)))
ifneq ($(wildcard csrc/platform/switch_$(ARCH).S),)
SWITCH ?= $(ARCH)
endif
SWITCH ?= ucontext
BASE += $(if $(filter ucontext,$(SWITCH)),-DWEFT_SWITCH_UCONTEXT)
ASM_SRC := $(wildcard csrc/platform/switch_$(SWITCH).S)
SWITCH_SRC := $(wildcard csrc/platform/switch_$(SWITCH).c)

CORE_SRC := $(wildcard csrc/base/*.c csrc/platform/*.c csrc/core/*.c)
CORE_SRC := $(filter-out csrc/platform/switch_%,$(CORE_SRC)) $(SWITCH_SRC)
CORE_OBJ := $(CORE_SRC:%.c=$(B)/obj/%.o) $(ASM_SRC:%.S=$(B)/obj/%.o)
BIND_SRC := $(wildcard csrc/lua/*.c)
BIND_OBJ_54 := $(BIND_SRC:%.c=$(B)/obj/lua5.4/%.o)
BIND_OBJ_JIT := $(BIND_SRC:%.c=$(B)/obj/luajit/%.o)

# spec/c/*_lua54_spec.c and *_luajit_spec.c are programs with that VM and the binding inside;
# every other *_spec.c links the C library alone. spec/c/support/*.c goes into all of them.
UNIT_SRC := $(wildcard spec/c/*_spec.c)
UNIT_54 := $(patsubst %.c,$(B)/%,$(filter %_lua54_spec.c,$(UNIT_SRC)))
UNIT_JIT := $(patsubst %.c,$(B)/%,$(filter %_luajit_spec.c,$(UNIT_SRC)))
UNIT_C := $(patsubst %.c,$(B)/%,$(filter-out %_lua54_spec.c %_luajit_spec.c,$(UNIT_SRC)))
SUPPORT_OBJ := $(patsubst %.c,$(B)/obj/%.o,$(wildcard spec/c/support/*.c))

# examples/*-embed.c holds a Lua and becomes one program for each VM, *-kernel.c becomes a shared
# library for jobs.kernel, *-module.c a Lua module for each VM; the other C examples link the C
# library alone.
EMBED_SRC := $(wildcard examples/*-embed.c)
KERNEL_SRC := $(wildcard examples/*-kernel.c)
EXAMPLE_KERNEL := $(KERNEL_SRC:%.c=$(B)/%.so)
MODULE_SRC := $(wildcard examples/*-module.c)
MODULE_NAMES := $(MODULE_SRC:examples/%-module.c=%.so)
EXAMPLE_MODULES := $(foreach vm,lua5.4 luajit,$(MODULE_NAMES:%=$(B)/examples/$(vm)/%))
EXAMPLE_C := $(filter-out $(EMBED_SRC) $(KERNEL_SRC) $(MODULE_SRC),$(wildcard examples/*.c))
EXAMPLE_C := $(EXAMPLE_C:%.c=$(B)/%)
EMBED_54 := $(EMBED_SRC:%.c=$(B)/%-lua5.4)
EMBED_JIT := $(EMBED_SRC:%.c=$(B)/%-luajit)

LIB := $(B)/libweft.a
ARCHIVE_54 := $(B)/libweft-lua5.4.a
ARCHIVE_JIT := $(B)/libweft-luajit.a
MODULE_54 := $(B)/lua5.4/weft/core.so
MODULE_JIT := $(B)/luajit/weft/core.so

# --- What people ask for ----------------------------------------------------------------------

.PHONY: all lib lua5.4 luajit units examples help demo test bench test-aarch64 lint layers format \
  asan tsan hard valgrind setup clean tools example-tools
.DELETE_ON_ERROR:
.SECONDARY:

all: lib lua5.4 luajit pkgconfig
lib: $(LIB)
lua5.4: $(MODULE_54) $(ARCHIVE_54)
luajit: $(MODULE_JIT) $(ARCHIVE_JIT)
units: $(UNIT_C) $(UNIT_54) $(UNIT_JIT)
examples: $(EXAMPLE_C) $(EXAMPLE_KERNEL) $(EXAMPLE_MODULES) $(EMBED_54) $(EMBED_JIT)

help:
	@echo 'weft: gameplay routines that may wait anywhere, for Lua 5.4 and LuaJIT'
	@echo
	@echo '  make              both modules and the C library (also: lib, lua5.4, luajit, units)'
	@echo '  make examples     the examples that are in C, into build/MODE/examples/'
	@echo '  make demo         run a headless skirmish and print what happened'
	@echo '  make test         everything that must pass; PART=pattern for some of it'
	@echo '  make bench        the bench table; ROWS=pattern for some of it'
	@echo '  make test-aarch64 the C units for aarch64, cross-compiled, under qemu'
	@echo '  make lint         luacheck, shellcheck, clang-format, the layers'
	@echo '  make format       let clang-format lay the C files out'
	@echo '  make hard         C units of the hostile build: tiny limits, checks at each step'
	@echo '  make asan         C units and specs under AddressSanitizer and UBSan'
	@echo '  make tsan         C units under ThreadSanitizer (clang)'
	@echo '  make valgrind     C units and some specs under Valgrind'
	@echo '  make setup        install what is missing, from Debian packages'
	@echo '  make install      into PREFIX=/usr/local, below DESTDIR if set; also uninstall'
	@echo '  make clean        remove build/'
	@echo '  make help         this page'
	@echo
	@echo '  MODE=release|debug|hard|asan|tsan   flags; outputs go to build/MODE/'
	@echo '  SWITCH=ucontext   the portable context switch instead of the one of this CPU'
	@echo '  V=1               show the commands       WERROR=1  warnings are errors'

demo:
	@scripts/setup demo
	@$(MAKE) --no-print-directory lua5.4 luajit
	@scripts/weft exec examples/skirmish.lua

test:
	@scripts/setup test
	@set -f; scripts/test $(PART)

bench:
	@scripts/setup bench
	@$(MAKE) --no-print-directory all $(EXAMPLE_MODULES)
	@ROWS='$(ROWS)' MODE='$(MODE)' bench/run

test-aarch64:
	@scripts/test-aarch64

hard asan tsan valgrind:
	@scripts/setup test
	@scripts/test '*$@*'

lint:
	@scripts/setup test
	@scripts/test 'lint*'

layers:
	@scripts/layers

setup:
	@scripts/setup demo test bench

include scripts/packaging/install.mk

clean:
	rm -rf build

FORMATTED = $(shell find csrc spec bench examples -name '*.[ch]')
format:
	clang-format -i $(FORMATTED)

# --- How it is done ---------------------------------------------------------------------------

SETUP ?= scripts/setup
tools:
	@$(SETUP) build
example-tools:
	@$(SETUP) examples

$(B)/obj/%.o: %.c Makefile | tools
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -c $< -o $@

$(B)/obj/%.o: %.S Makefile | tools
	$(call say,AS,$@)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -c $< -o $@

$(B)/obj/lua5.4/%.o: %.c Makefile | tools
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(call lua_cflags,lua5.4) -c $< -o $@

$(B)/obj/luajit/%.o: %.c Makefile | tools
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(call lua_cflags,luajit) -c $< -o $@

# The header that LuaJIT's FFI is given, as a string of C.
FFI_TEXT := $(B)/gen/ffi_text.h
FFI_OBJ := $(B)/obj/lua5.4/csrc/lua/ffi.o $(B)/obj/luajit/csrc/lua/ffi.o
$(FFI_TEXT): csrc/include/weft/ffi.h Makefile
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< >$@
$(FFI_OBJ): $(FFI_TEXT)
$(FFI_OBJ): BASE += -I$(B)/gen

# Made anew each time, so that an object whose source is gone does not live on.
$(LIB): $(CORE_OBJ)
$(ARCHIVE_54): $(BIND_OBJ_54)
$(ARCHIVE_JIT): $(BIND_OBJ_JIT)
$(LIB) $(ARCHIVE_54) $(ARCHIVE_JIT):
	$(call say,AR,$@)
	@mkdir -p $(@D) && rm -f $@
	$(Q)$(AR) rcs $@ $^

# The interpreter that opens the module brings Lua's symbols: liblua is not linked.
$(MODULE_54): $(BIND_OBJ_54) $(CORE_OBJ)
$(MODULE_JIT): $(BIND_OBJ_JIT) $(CORE_OBJ)
$(MODULE_54) $(MODULE_JIT):
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-z,relro -Wl,-z,noexecstack $^ $(LIBS) -o $@.new && mv $@.new $@

$(UNIT_C): $(B)/%: $(B)/obj/%.o $(SUPPORT_OBJ) $(LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_PROGRAM) $^ -lcmocka $(LIBS) -o $@

$(UNIT_54): $(B)/%: $(B)/obj/lua5.4/%.o $(SUPPORT_OBJ) $(BIND_OBJ_54) $(LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_PROGRAM) $^ $$($(PKG_CONFIG) --libs lua5.4) -lcmocka $(LIBS) -o $@

$(UNIT_JIT): $(B)/%: $(B)/obj/luajit/%.o $(SUPPORT_OBJ) $(BIND_OBJ_JIT) $(LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_PROGRAM) $^ $$($(PKG_CONFIG) --libs luajit) -lcmocka $(LIBS) -o $@

$(EXAMPLE_C): $(B)/%: $(B)/obj/%.o $(LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_PROGRAM) $^ $(LIBS) -o $@

# Each product is rounded, as Lua rounds it.
$(EXAMPLE_KERNEL): $(B)/%.so: %.c Makefile | tools
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -fno-lto -ffp-contract=off -shared $< -o $@

# What they are of beside Lua is a library of the same name. The interpreter brings Lua's symbols.
$(B)/examples/lua5.4/%.so: examples/%-module.c Makefile | example-tools
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -fno-lto -shared $(call lua_cflags,lua5.4) $< -l$* -o $@

$(B)/examples/luajit/%.so: examples/%-module.c Makefile | example-tools
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -fno-lto -shared $(call lua_cflags,luajit) $< -l$* -o $@

$(EMBED_54): $(B)/%-lua5.4: $(B)/obj/lua5.4/%.o $(ARCHIVE_54) $(LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_PROGRAM) $^ $$($(PKG_CONFIG) --libs lua5.4) $(LIBS) -o $@

$(EMBED_JIT): $(B)/%-luajit: $(B)/obj/luajit/%.o $(ARCHIVE_JIT) $(LIB)
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK_PROGRAM) $^ $$($(PKG_CONFIG) --libs luajit) $(LIBS) -o $@

-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)
