// Hides the rules that are not wanted. What is wanted is in the fragment of the address, so that it can be linked.
const form = document.getElementById("filter");
const list = document.getElementById("rules");
const status = document.getElementById("status");
const rows = [...list.children].map((row) => ({ row, text: row.textContent.toLowerCase(), ...row.dataset }));
const fields = ["symptom", "stage", "release", "words"];

function show() {
  const wanted = Object.fromEntries(fields.map((name) => [name, form.elements[name].value.trim()]));
  const words = wanted.words.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const { row, text, stage, releases, symptoms } of rows) {
    const fits = (!wanted.stage || stage === wanted.stage)
      && (!wanted.release || releases.split(" ").includes(wanted.release))
      && (!wanted.symptom || symptoms.split(" ").includes(wanted.symptom))
      && words.every((word) => text.includes(word));
    row.hidden = !fits;
    shown += fits ? 1 : 0;
  }
  status.textContent = shown ? `${shown} of ${rows.length} rules` : "No rule has all of that. Take something away.";
  const said = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value)).toString();
  window.history.replaceState(null, "", said ? `#${said}` : window.location.pathname);
}

function read() {
  const said = new URLSearchParams(window.location.hash.slice(1));
  for (const name of fields) {
    const field = form.elements[name];
    field.value = said.get(name) ?? "";
    if (field.value !== (said.get(name) ?? "")) field.value = ""; // nothing that there is
  }
  show();
}

/** The arrows walk through the rules that are shown, and back to the words. */
function walk(event, step) {
  const links = [form.elements.words, ...list.querySelectorAll("li:not([hidden]) a")];
  const at = links.indexOf(document.activeElement);
  if (at < 0 || !links[at + step]) return;
  event.preventDefault();
  links[at + step].focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/" && document.activeElement !== form.elements.words) {
    event.preventDefault();
    form.elements.words.focus();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    walk(event, event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Escape") {
    form.reset();
  }
});
form.addEventListener("input", show);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(show));
window.addEventListener("hashchange", read);
form.hidden = false;
read();
