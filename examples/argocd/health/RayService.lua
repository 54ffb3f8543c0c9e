-- Health of ray.io/RayService. Argo CD opens only the base and table libraries: no string functions here.
local status = obj.status or {}
local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end
local function is_true(name)
  return conditions[name] ~= nil and conditions[name].status == "True"
end

if status.observedGeneration ~= nil and obj.metadata.generation ~= nil
    and status.observedGeneration < obj.metadata.generation then
  return { status = "Progressing", message = "the operator has not seen the last change yet" }
end
if is_true("Suspended") then
  return { status = "Suspended", message = "suspended" }
end
if is_true("UpgradeInProgress") then
  return { status = "Progressing", message = "an upgrade is in progress" }
end
if is_true("Ready") or (conditions.Ready == nil and status.serviceStatus == "Running") then
  return { status = "Healthy", message = "serves requests" }
end
if conditions.Ready ~= nil and conditions.Ready.reason == "ValidationFailed" then
  return { status = "Degraded", message = conditions.Ready.message }
end
return { status = "Progressing", message = "does not serve requests yet" }
