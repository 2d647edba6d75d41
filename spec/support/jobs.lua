-- SPDX-License-Identifier: MIT
--
-- What the specs about jobs share. Two workers and one background thread, whatever the machine has.

local jobs = require "weft.jobs"

-- The threads are there before the first spec, and stay.
if jobs.stats().workers == 0 then
  jobs.configure{ workers = 2, background = 1 }
  assert(jobs.run(function() end)):wait()
end

local support = {}

---The results of a job that has ended or will; raises its error.
function support.done(job)
  assert(job:wait())
  return job:result()
end

---What a job raises.
function support.failure(job)
  assert(job:wait())
  local ok, err = pcall(job.result, job)
  assert(not ok, "the job did not fail")
  return err
end

return support
