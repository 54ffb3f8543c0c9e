-- Health of scheduling.k8s.io/PodGroup. Argo CD opens only the base and table libraries: no string functions here.
--
-- A group is never reported as Progressing: it is applied in wave -1, its pods come in wave 0, and Argo CD waits for
-- the health of a wave before it starts the next one. Progressing would wait for pods that are never created, and it
-- would hold back the very change (fewer pods, smaller requests) that lets a waiting group start.
for _, condition in ipairs((obj.status or {}).conditions or {}) do
  if condition.type == "PodGroupInitiallyScheduled" then
    if condition.status == "True" then
      return { status = "Healthy", message = "was scheduled" }
    end
    return { status = "Healthy", message = "waiting: " .. (condition.message or condition.reason or "not scheduled") }
  end
end
return { status = "Healthy", message = "its pods were not tried yet" }
