-- Lets the jobs of some partitions wait until `odonata cluster place` has chosen their nodes: by a
-- begin time that never comes, which is no hold, so that holds stay what they are.
-- Beside slurm.conf, with JobSubmitPlugins=lua there. Set these three:

-- Partitions whose jobs are placed.
local partitions = { main = true }
-- The file that `odonata cluster place --heartbeat` renews, readable by slurmctld.
local heartbeat = "/var/lib/odonata/heartbeat"
-- Where it is older than so many seconds, nobody waits: Slurm goes on as if this were not here.
local seconds = 120

local until_placed = 4136000000
local mark = "odonata-place"
local no_number = 4294967294

local function alive()
    local file = io.open(heartbeat, "r")
    if file == nil then
        return false
    end
    local beat = file:read("*n")
    file:close()
    return beat ~= nil and math.abs(os.time() - beat) <= seconds
end

local function given(text)
    return text ~= nil and text ~= ""
end

-- What Slurm does better: named nodes, reservations, a time to begin, a priority or hold of the
-- user's own, throttled arrays.
local function is_slurms(job)
    return given(job.req_nodes) or given(job.reservation)
        or (job.begin_time ~= nil and job.begin_time > 0)
        or (job.priority ~= nil and job.priority ~= no_number)
        or (given(job.array_inx) and string.find(job.array_inx, "%%") ~= nil)
end

local function default_of(list)
    for name, partition in pairs(list) do
        if partition.flag_default ~= nil and partition.flag_default ~= 0 then
            return name
        end
    end
    return nil
end

function slurm_job_submit(job, list, uid)
    local partition = job.partition
    if not given(partition) then
        partition = default_of(list)
    end
    if partition == nil or not partitions[partition] or is_slurms(job) or not alive() then
        return slurm.SUCCESS
    end
    job.begin_time = until_placed
    if given(job.comment) then
        job.comment = mark .. " " .. job.comment
    else
        job.comment = mark
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job, record, list, uid)
    return slurm.SUCCESS
end

return slurm.SUCCESS
