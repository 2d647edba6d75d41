# SPDX-License-Identifier: MIT
# install.mk - where things go on other machines: make install and uninstall, the pkg-config files,
# and what the rockspec calls. Part of the Makefile, which knows how things are built.

.PHONY: install uninstall pkgconfig rock install-rock

# --- pkg-config -------------------------------------------------------------------------------

PC := $(B)/weft.pc $(B)/weft-lua5.4.pc $(B)/weft-luajit.pc
pkgconfig: $(PC)

VERSION = $(shell sed -n 's/^.define WEFT_VERSION "\(.*\)"$$/\1/p' csrc/include/weft.h)
$(B)/weft.pc: scripts/packaging/weft.pc.in
$(B)/weft-lua5.4.pc $(B)/weft-luajit.pc: scripts/packaging/weft-lua.pc.in
$(B)/weft-luajit.pc: LUA_ABI = 5.1
LUA_ABI = 5.4

$(PC): csrc/include/weft.h scripts/packaging/install.mk
	$(call say,PC,$@)
	@mkdir -p $(@D)
	$(Q)sed 's|@VERSION@|$(VERSION)|; s|@ABI@|$(LUA_ABI)|; s|@VM@|$(@:$(B)/weft-%.pc=%)|' \
	  $(filter %.in,$^) >$@

# --- make install -----------------------------------------------------------------------------
# Lua 5.4 and LuaJIT find the modules by themselves if PREFIX is one of theirs, as /usr/local is.

PREFIX ?= /usr/local
DEST = $(DESTDIR)$(PREFIX)
PUT = install -D -m 644 -t

HEADER := csrc/include/weft.h
PARTS := $(wildcard csrc/include/weft/*.h)
LUA_SRC := $(wildcard lua/weft/*.lua)
ARCHIVES := $(LIB) $(ARCHIVE_54) $(ARCHIVE_JIT)

install: all
	install -D -m 755 scripts/weft '$(DEST)/bin/weft'
	$(PUT) '$(DEST)/include' $(HEADER)
	$(PUT) '$(DEST)/include/weft' $(PARTS)
	$(PUT) '$(DEST)/lib/pkgconfig' $(PC)
	$(PUT) '$(DEST)/lib' $(ARCHIVES)
	$(foreach a,$(notdir $(ARCHIVES)),$(call plain,'$(DEST)/lib/$(a)') &&) :
	$(PUT) '$(DEST)/share/lua/5.4/weft' $(LUA_SRC)
	$(PUT) '$(DEST)/share/lua/5.1/weft' $(LUA_SRC)
	$(PUT) '$(DEST)/lib/lua/5.4/weft' $(MODULE_54)
	$(PUT) '$(DEST)/lib/lua/5.1/weft' $(MODULE_JIT)

# Without what the optimiser left for link time: no other version of the compiler can read that.
plain = $(OBJCOPY) -R '.gnu.lto_*' -R '.gnu.debuglto_*' $(1)

# Folders go when they are empty; what every prefix has, such as bin, goes only below a DESTDIR.
INSTALLED = bin/weft $(patsubst csrc/%,%,$(HEADER) $(PARTS)) $(PC:$(B)/%=lib/pkgconfig/%) \
  $(ARCHIVES:$(B)/%=lib/%) lib/lua/5.4/weft/core.so lib/lua/5.1/weft/core.so \
  $(LUA_SRC:lua/%=share/lua/5.4/%) $(LUA_SRC:lua/%=share/lua/5.1/%)
OWN_DIRS = $(foreach d,share/lua lib/lua,$(d)/5.4/weft $(d)/5.1/weft $(d)/5.4 $(d)/5.1 $(d)) \
  lib/pkgconfig include/weft $(if $(DESTDIR),bin include lib share)

uninstall:
	rm -f $(foreach f,$(INSTALLED),'$(DEST)/$(f)')
	-@rmdir $(foreach d,$(OWN_DIRS),'$(DEST)/$(d)') 2>/dev/null || :
	$(if $(DESTDIR),-@cd '$(DESTDIR)' && rmdir -p '.$(PREFIX)' 2>/dev/null || :)

# --- LuaRocks ---------------------------------------------------------------------------------
# One module, built apart from the rest with the headers in LUA_INCDIR. Where these are not of 5.4
# the machine is LuaJIT, the only one of 5.1 that weft knows; if they are not LuaJIT's either,
# those that pkg-config names are taken.

ROCK_VM = $(if $(shell grep -s 'LUA_VERSION_NUM.*504' '$(LUA_INCDIR)/lua.h'),lua5.4,luajit)
ROCK_INCDIR = $(if $(wildcard $(LUA_INCDIR)/luajit.h)$(filter lua5.4,$(ROCK_VM)),$(LUA_INCDIR))
ROCK = build/rock-$(ROCK_VM)
ROCK_MODULE = $(ROCK)/$(ROCK_VM)/weft/core.so

# Always anew: the headers may be others than last time.
rock:
	rm -rf $(ROCK)
	$(MAKE) --no-print-directory B=$(ROCK) LUA_INCDIR='$(ROCK_INCDIR)' SETUP=: $(ROCK_MODULE)

install-rock:
	install -D -m 755 scripts/weft '$(BINDIR)/weft'
	$(PUT) '$(LUADIR)/weft' $(LUA_SRC)
	$(PUT) '$(LIBDIR)/weft' $(ROCK_MODULE)
