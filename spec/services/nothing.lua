-- A module that is no main.
return 5
