// Trees of groups, drawn as boxes that the style sheet moves in by their level, and that screen readers read as a tree.

export function drawTrees(forest) {
  const drawn = element("div", { role: "tree", "aria-label": "Tree of groups", className: "tree" });
  drawn.append(...(forest.trees ?? []).flatMap((tree) => drawNode(tree, 1)));
  drawn.firstElementChild?.setAttribute("tabindex", "0");
  drawn.addEventListener("keydown", walk);
  return drawn;
}

/** The box of a node, and those of all below it. */
function drawNode(node, level) {
  const box = element("div", { role: "treeitem", "aria-level": String(level), tabIndex: -1, className: `node ${node.shape}` });
  box.style.setProperty("--level", level - 1);
  box.append(element("strong", { textContent: node.name }), " ", element("span", { textContent: node.words ?? "" }));
  if (node.shape === "pods") box.append(dots(node.pods ?? 0));
  return [box, ...(node.below ?? []).flatMap((each) => drawNode(each, level + 1))];
}

/** A dot for each pod, as far as they can be counted at a glance. */
function dots(pods) {
  const shown = Math.min(pods, 32);
  const text = "●".repeat(shown) + (pods > shown ? ` +${pods - shown}` : "");
  const row = element("span", { className: "pods", textContent: text });
  row.setAttribute("aria-hidden", "true");
  return row;
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

export function element(name, properties = {}) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role") made.setAttribute(key, value);
    else made[key] = value;
  }
  return made;
}
