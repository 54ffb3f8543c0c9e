-- Health of ray.io/RayCluster. Argo CD opens only the base and table libraries: no string functions here.
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local function is_true(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

if status.observedGeneration == nil then
  return { status = "Progressing", message = "the operator has not seen it yet" }
end
if obj.metadata.generation ~= nil and status.observedGeneration < obj.metadata.generation then
  return { status = "Progressing", message = "the operator has not seen the last change yet" }
end
if is_true("ReplicaFailure") then
  return { status = "Degraded", message = conditions.ReplicaFailure.message or "pods could not be created" }
end
if is_true("RayClusterSuspended") or status.state == "suspended" then
  return { status = "Suspended", message = "suspended" }
end
if is_true("RayClusterProvisioned") and (conditions.HeadPodReady == nil or is_true("HeadPodReady")) then
  return { status = "Healthy", message = "all pods were ready" }
end
if conditions.RayClusterProvisioned == nil and status.state == "ready" then
  return { status = "Healthy", message = "ready" } -- operators before 1.2 set no conditions
end

local wanted, ready = status.desiredWorkerReplicas or 0, status.readyWorkerReplicas or 0
local message = ready .. " of " .. wanted .. " workers are ready"
if conditions.HeadPodReady ~= nil and not is_true("HeadPodReady") then
  message = "the head is not ready, " .. message
end
return { status = "Progressing", message = message }
