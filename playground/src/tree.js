// Trees of groups, drawn as boxes that the style sheet moves in by their level, and that screen readers read as a tree.

export function drawTrees(forest) {
  const drawn = element("div", { role: "tree", "aria-label": "Tree of groups", className: "tree" });
  drawn.append(...(forest.trees ?? []).flatMap((tree) => drawNode(tree, 1)));
  drawn.firstElementChild?.setAttribute("tabindex", "0");
  drawn.addEventListener("keydown", walk);
  return drawn;
}

/** The box of a node, and those of all below it; pods below what never starts wait. */
function drawNode(node, level, waits = false) {
  const [kind, ...name] = (node.object ?? node.name).split(" ");
  const looks = ["node", node.shape, node.neverStarts ? "never" : "", waits ? "waits" : ""].filter(Boolean).join(" ");
  const box = element("div", { role: "treeitem", "aria-level": String(level), tabIndex: -1, className: looks });
  const title = element("strong");
  title.append(element("em", { textContent: spell(kind) }), ` ${spell(name.join(" "))}`);
  box.style.setProperty("--level", level - 1);
  box.append(title, " ", element("span", { textContent: spell(node.words ?? "") }));
  if (node.shape === "pods") box.append(dots(node.pods ?? 0));
  const below = (node.below ?? []).map((each) => drawNode(each, level + 1, waits || node.neverStarts));
  for (let at = 1; at < below.length; at += 1) below[at][0].dataset.after = String(below[at - 1].length - 1);
  return [box, ...below.flat()];
}

/** A dot for each pod, as far as they can be counted at a glance. */
function dots(pods) {
  const shown = Math.min(pods, 32);
  const row = element("span", { className: "dots", "aria-hidden": "true" });
  row.append(...Array.from({ length: shown }, () => element("i")), pods > shown ? `+${pods - shown}` : "");
  return row;
}

/** Draws each line up to the parent: as long as what is between. Called when the boxes have their places. */
export function joinTree(drawn) {
  for (const box of drawn.querySelectorAll("[data-after]")) {
    let before = box.previousElementSibling;
    for (let skip = Number(box.dataset.after); skip > 0; skip -= 1) before = before.previousElementSibling;
    box.style.setProperty("--above", `${box.offsetTop - before.offsetTop - 20}px`);
  }
}

function walk(event) {
  const items = [...event.currentTarget.querySelectorAll("[role=treeitem]")];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (at < 0 || to === undefined || !items[to]) return;
  event.preventDefault();
  items[at].tabIndex = -1;
  items[to].tabIndex = 0;
  items[to].focus();
}

/** A text in which characters that nobody sees, or that turn the direction of others, are seen as escapes. */
export function spell(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (found) => `\\u${found.codePointAt(0).toString(16).padStart(4, "0")}`);
}

export function element(name, properties = {}) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role") made.setAttribute(key, value);
    else made[key] = value;
  }
  return made;
}
