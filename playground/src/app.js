// The page: files on the left, what krmfn makes of them on the right, findings below. Knows the page, not krmfn.
import { makeEditor } from "./editor.js";
import { pack, unpack } from "./share.js";
import { drawTrees, element, joinTree, spell } from "./tree.js";

const $ = (id) => document.getElementById(id);
const TABS = { tree: "Tree", generated: "Generated", fit: "Fit", diff: "Compare" };
const PAUSE = 30; // milliseconds without a keystroke before the files are checked
const LONG = 700; // milliseconds after which a check says that it is at work
const MOST = 4e6; // characters: larger input takes a browser minutes, and more memory than a phone has
const MOST_ROWS = 200; // more are not read on a page, and would keep it from answering keys
// The page itself generates, and has no cluster to ask.
const SEVERITIES = ["error", "warning", "info"];
const BESIDE_THE_POINT = ["function-skipped", "facts-missing"];

const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
const { examples, releases } = await fetch("examples.json").then((reply) => reply.json());
let state = { files: {}, old: {}, cluster: "", kubernetes: "", gates: "", tab: "tree" };
let current = ""; // the file in the editor
let told = null; // the last answer
let drawn = ""; // the tree in the view, as it was printed
let asked = 0;
let waiting = false; // the worker has a question
let changed = false; // since then
let timer = 0;
let patience = 0;

const editor = makeEditor($("editor"), "Manifests", (text) => {
  state.files[current] = text;
  checkSoon();
});
const beside = makeEditor($("beside"), "Beside", (text) => {
  if (state.tab === "fit") state.cluster = text;
  else state.old[oldName()] = text;
  checkSoon();
});

worker.onmessage = ({ data }) => {
  waiting = false;
  clearTimeout(patience);
  if (isTooLarge()) return; // which is what the page says already
  if (changed) check();
  if (data.error) {
    showAnswer({ findings: { out: "{}", err: "" } }); // what was found is about another text
    $("status").textContent = `krmfn could not run: ${data.error.trim().split("\n").pop()}`;
    return;
  }
  showAnswer(data.told);
  $("status").textContent = summarise(listResults(), data.milliseconds);
  document.body.dataset.answered = String(data.id);
};

function showAnswer(answer) {
  told = answer;
  listFindings(listResults(), read(told.findings) ? "" : told.findings.err);
  markCurrent();
  showView();
}

function checkSoon() {
  clearTimeout(timer);
  timer = setTimeout(check, PAUSE);
}

const measure = () => [...Object.values(state.files), state.cluster].reduce((sum, text) => sum + text.length, 0);
const isTooLarge = () => measure() > MOST;

function check() {
  changed = waiting;
  if (isTooLarge()) {
    clearTimeout(patience);
    showAnswer({ findings: { out: "{}", err: "" } }); // what was found is about another text
    $("status").textContent = `Not checked: ${(measure() / 1e6).toFixed(1)} MB is too large for this page, which takes up to `
      + `${MOST / 1e6} MB. On a command line, krmfn validate has no such limit.`;
    return;
  }
  if (waiting) return; // asked again when the answer is there
  asked += 1;
  waiting = true;
  patience = setTimeout(() => { $("status").textContent = "Checking…"; }, LONG);
  worker.postMessage({ id: asked, request: state });
}

function listResults() {
  const results = (told && read(told.findings)?.results) ?? [];
  const weight = ({ severity }) => SEVERITIES.indexOf(severity);
  return results.filter((result) => !BESIDE_THE_POINT.includes(result.tags?.rule)).sort((one, other) => weight(one) - weight(other));
}

function markCurrent() {
  editor.mark(listResults().filter((result) => fileOf(result) === current && result.file?.line).slice(0, MOST_ROWS * 5));
}

/** The JSON that a command printed, or null where it printed something else. */
function read(printed) {
  try {
    return JSON.parse(printed.out);
  } catch {
    return null;
  }
}

const fileOf = (result) => (result.file?.path ?? "").replace(/^\.\//, "");

function summarise(results, milliseconds) {
  const counts = SEVERITIES.map((severity) => {
    const number = results.filter((result) => result.severity === severity).length;
    return `${number} ${severity}${number === 1 ? "" : "s"}`;
  });
  return `${counts.join(", ")}. Checked in ${Math.max(1, Math.round(milliseconds))} ms.`;
}

function listFindings(results, wrong) {
  const rows = results.slice(0, MOST_ROWS).map((result) => {
    const ref = result.resourceRef ?? {};
    const row = element("li", { className: result.severity });
    const button = element("button", { type: "button" });
    const where = [ref.kind, ref.name].filter(Boolean).join(" ") || fileOf(result);
    button.append(
      element("b", { textContent: result.severity }),
      spell(` ${[where, result.field?.path].filter(Boolean).join(" ")}: ${result.message} [${result.tags?.rule ?? ""}]`),
    );
    if (result.tags?.hint) button.append(element("small", { textContent: spell(result.tags.hint) }));
    button.onclick = () => {
      if (state.files[fileOf(result)] !== undefined) openFile(fileOf(result));
      editor.go(result.file?.line, result.file?.column);
    };
    row.append(button);
    return row;
  });
  $("findings").replaceChildren(...rows);
  if (results.length > rows.length) $("findings").append(tellMore("li", results.length - rows.length, "findings"));
  if (wrong) $("findings").append(element("li", { className: "wrong", textContent: wrong }));
}

function tellMore(name, number, what) {
  return element(name, { className: "more", textContent: `${number.toLocaleString("en")} more ${what} are not shown.` });
}

function showView() {
  const view = $("view");
  const tree = state.tab === "tree" ? told?.tree?.out : "";
  if (tree && tree === drawn && view.querySelector("[role=tree]")) return; // the focus stays where it is
  drawn = tree;
  const shown = { tree: showTree, generated: () => showText(told?.generated), fit: showFit, diff: () => showText(told?.diff) };
  view.replaceChildren(...[shown[state.tab]()].flat());
  joinTree(view);
}

function showTree() {
  const forest = told?.tree && read(told.tree);
  if (!forest) return showText(told?.tree);
  const more = (forest.trees?.length ?? 0) - MOST_ROWS;
  if (more > 0) return [drawTrees({ trees: forest.trees.slice(0, MOST_ROWS) }), tellMore("p", more, "trees")];
  if (forest.trees?.length) return drawTrees(forest);
  return element("p", { textContent: "No group: set the annotation krmfn.dev/gang: \"true\" on a resource." });
}

function showFit() {
  const picture = told?.fit?.out;
  if (!picture?.startsWith("<svg") && !picture?.startsWith("<?xml")) return showText(told?.fit);
  const image = element("img", { alt: "Which gangs fit where: the text below says the same." });
  image.src = URL.createObjectURL(new Blob([picture], { type: "image/svg+xml" })); // a picture runs no script
  image.onload = () => URL.revokeObjectURL(image.src);
  return [image, ...[showText(told.fitText)].flat()];
}

function showText(printed) {
  const explain = {
    fit: "Paste the output of kubectl get nodes,pods -A -o yaml (or krmfn facts) below.",
    diff: "The editor below has the files as they were. Change the files on the left: this is what an apply would do.",
  };
  if (!printed) return element("p", { textContent: explain[state.tab] ?? "" });
  const most = MOST_ROWS * 1000;
  const shown = printed.out.length > most ? `${printed.out.slice(0, most)}\n…` : printed.out;
  const parts = shown ? [element("pre", { textContent: shown })] : [];
  if (printed.err.trim()) parts.push(element("pre", { className: "wrong", textContent: printed.err }));
  return parts.length ? parts : element("p", { textContent: "Nothing to show." });
}

function drawFiles() {
  const rows = Object.keys(state.files).map((name) => {
    const tab = element("button", { type: "button", role: "tab", textContent: name, "aria-selected": String(name === current) });
    tab.onclick = () => openFile(name);
    return tab;
  });
  $("files").replaceChildren(...rows);
  $("remove").disabled = rows.length < 2;
}

function openFile(name) {
  current = name;
  editor.show(state.files[name]);
  drawFiles();
  markCurrent();
  if (state.tab === "diff") showBeside();
}

const oldName = () => (state.old[current] === undefined ? Object.keys(state.old)[0] ?? current : current);

function showBeside() {
  const box = $("beside");
  box.hidden = state.tab !== "fit" && state.tab !== "diff";
  if (state.tab === "diff" && !Object.keys(state.old).length) state.old = { ...state.files };
  if (state.tab === "fit") beside.show(state.cluster);
  if (state.tab === "diff") beside.show(state.old[oldName()] ?? "");
  const label = state.tab === "fit" ? "Dump of the cluster" : "The files before the change";
  box.querySelector(".cm-content").setAttribute("aria-label", label);
}

function chooseTab(name, focus) {
  state.tab = name in TABS ? name : "tree";
  for (const key of Object.keys(TABS)) {
    const tab = $(`tab-${key}`);
    tab.setAttribute("aria-selected", String(key === state.tab));
    tab.tabIndex = key === state.tab ? 0 : -1;
    if (focus && key === state.tab) tab.focus();
  }
  $("view").setAttribute("aria-labelledby", `tab-${state.tab}`);
  showBeside();
  showView();
  check();
}

function load(given) {
  state = { ...state, ...given };
  $("kubernetes").value = state.kubernetes || releases[0];
  $("gates").value = state.gates;
  openFile(Object.keys(state.files)[0]);
  chooseTab(state.tab, false);
}

/** An example comes with its answer, which is there before Python is. */
function loadExample(name) {
  const { told: answer, ...given } = structuredClone(examples[name]);
  for (const button of $("examples").children) button.setAttribute("aria-pressed", String(button.textContent === name));
  const usual = !state.kubernetes || state.kubernetes === releases[0];
  load({ old: {}, cluster: "", gates: "", tab: "tree", ...given });
  if (usual) showAnswer(answer);
}

function freeName(wanted) {
  for (let number = 2, name = wanted; ; number += 1) {
    if (state.files[name] === undefined) return name;
    name = wanted.replace(/(\.[a-z]+)?$/, (end) => `-${number}${end}`);
  }
}

/** What a person must know beside the findings; empty when there is nothing. */
function notify(text) {
  $("notice").textContent = text;
  $("notice").hidden = !text;
}

/** The text of a file, or null where it is none. */
async function readText(file) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

async function take(files) {
  const names = [];
  const passed = [];
  for (const file of files) {
    const text = await readText(file);
    if (text === null) {
      passed.push(file.name);
      continue;
    }
    const name = freeName(file.name);
    state.files[name] = text;
    names.push(name);
  }
  notify(passed.length ? `Not text in UTF-8, so not opened: ${passed.join(", ")}.` : "");
  if (names.length) openFile(names[0]);
  check();
}

function build() {
  for (const [name, words] of Object.entries(TABS)) {
    const tab = element("button", { type: "button", role: "tab", id: `tab-${name}`, textContent: words, "aria-controls": "view" });
    tab.onclick = () => chooseTab(name, false);
    $("tabs").append(tab);
  }
  $("tabs").onkeydown = ({ key }) => {
    const names = Object.keys(TABS);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step) chooseTab(names[(names.indexOf(state.tab) + step + names.length) % names.length], true);
  };
  for (const [at, name] of Object.keys(examples).entries()) {
    const button = element("button", { type: "button", id: `example-${at}`, textContent: name, "aria-pressed": "false" });
    button.onclick = () => loadExample(name);
    $("examples").append(button);
  }
  for (const name of releases) $("kubernetes").append(element("option", { textContent: name }));
  $("kubernetes").onchange = () => { state.kubernetes = $("kubernetes").value; check(); };
  $("gates").oninput = () => { state.gates = $("gates").value.trim(); checkSoon(); };
  $("add").onclick = () => {
    const name = freeName("manifest.yaml");
    state.files[name] = "";
    openFile(name);
    editor.view.focus();
  };
  $("rename").onclick = () => {
    const name = window.prompt("Name of the file", current)?.trim();
    if (!name || state.files[name] !== undefined) return;
    state.files = Object.fromEntries(Object.entries(state.files).map(([key, text]) => [key === current ? name : key, text]));
    openFile(name);
    check();
  };
  $("remove").onclick = () => {
    delete state.files[current];
    openFile(Object.keys(state.files)[0]);
    check();
  };
  $("open").onclick = () => $("chosen").click();
  $("chosen").onchange = () => take($("chosen").files);
  $("share").onclick = async () => {
    window.history.replaceState(null, "", `#${await pack(state)}`);
    try {
      await navigator.clipboard.writeText(window.location.href);
      $("share").textContent = "Copied";
    } catch {
      $("share").textContent = "Copy it from the address bar";
    }
    setTimeout(() => { $("share").textContent = "Copy link"; }, 2500);
  };
  const left = $("left");
  left.ondragover = (event) => { event.preventDefault(); left.classList.add("over"); };
  left.ondragleave = () => left.classList.remove("over");
  left.ondrop = (event) => { event.preventDefault(); left.classList.remove("over"); take(event.dataTransfer.files); };
}

async function loadFragment() {
  const fragment = window.location.hash.slice(1);
  const given = fragment ? await unpack(fragment) : null;
  if (given) load(given);
  else loadExample(Object.keys(examples)[0]);
  const lost = fragment && !given && !$(fragment); // it may also be a place on this page
  notify(lost ? "This link is damaged or cut off, so an example is shown instead. Copy the whole link again." : "");
}

build();
window.addEventListener("hashchange", loadFragment);
new ResizeObserver(() => joinTree($("view"))).observe($("view"));
await loadFragment();
