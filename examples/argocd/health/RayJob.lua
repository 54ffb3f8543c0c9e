-- Health of ray.io/RayJob. Argo CD opens only the base and table libraries: no string functions here.
-- The operator keeps no observedGeneration of a RayJob up to date, so the state alone decides.
local status = obj.status or {}
local state = status.jobDeploymentStatus or ""
local message = status.message or ""
if message == "" then
  message = state
end

if state == "Complete" then
  if status.jobStatus == "FAILED" or status.jobStatus == "STOPPED" then
    return { status = "Degraded", message = message }
  end
  return { status = "Healthy", message = message }
end
if state == "Failed" or state == "ValidationFailed" then
  return { status = "Degraded", message = message }
end
if state == "Suspended" then
  return { status = "Suspended", message = message }
end
if state == "" then
  message = "the operator has not seen it yet"
end
return { status = "Progressing", message = message }
