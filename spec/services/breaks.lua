-- A module that fails while it is loaded.
error "no such luck"
