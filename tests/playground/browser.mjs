// Drives the page in a real browser: `node browser.mjs MODULES ADDRESS FOLDER`. Prints one JSON line for each scenario.
import { createRequire } from "node:module";
import { readFileSync, readdirSync } from "node:fs";

const [modules, address, folder] = process.argv.slice(2);
const load = createRequire(`${modules}/`);
const { chromium } = load("playwright-core");
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: FLAGS });

const desktop = await browser.newContext({ viewport: { width: 1280, height: 900 } });

/** A page that has answered, and what it asked for and said on the way. */
async function open(fragment = "", options = null, without = null) {
  const page = await (options ? await browser.newContext(options) : desktop).newPage();
  if (without) await page.context().route(without, (route) => route.abort());
  const seen = { requests: [], errors: [], dialogs: 0 };
  page.on("request", (request) => seen.requests.push(request.url()));
  page.on("console", (message) => message.type() === "error" && seen.errors.push(message.text()));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("dialog", (dialog) => { seen.dialogs += 1; dialog.dismiss(); });
  await page.goto(`${address}/${fragment}`);
  await page.waitForSelector("body[data-answered]", { timeout: 60_000 });
  return { page, seen };
}

/** The memory of the largest process of this browser, in MB: the one with the page and its worker. */
function weigh() {
  const sizes = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((name) => {
    try {
      const isOurs = readFileSync(`/proc/${name}/cmdline`, "utf8").includes("--type=renderer");
      return isOurs ? Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1] ?? 0) / 1000 : 0;
    } catch {
      return 0; // it has ended
    }
  });
  return Math.max(...sizes);
}

const answered = (page) => page.evaluate(() => Number(document.body.dataset.answered));

/** Waits for an answer that is newer than `before`. */
async function next(page, before) {
  await page.waitForFunction((last) => Number(document.body.dataset.answered) > last, before, { timeout: 30_000 });
}

async function write(page, text) {
  const before = await answered(page);
  await page.locator("#editor .cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
  await next(page, before);
}

/** Pastes a text in the place of all that is in the editor, without waiting for the answer. */
async function pasteInto(page, text) {
  await page.locator("#editor .cm-content").click();
  await page.keyboard.press("Control+a");
  await page.evaluate((given) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", given);
    document.querySelector("#editor .cm-content").dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  }, text);
}

const job = (name, more = "") => `apiVersion: batch/v1
kind: Job
metadata:
  name: ${name}
  annotations: {krmfn.dev/gang: "true"}
spec:
  parallelism: 2
  completions: 2
${more}  template:
    spec:
      restartPolicy: Never
      containers:
      - name: a
        image: example.com/a:1
`;

const scenarios = {
  async desktop() {
    await (await open()).page.close(); // a warm cache
    const begun = Date.now();
    const { page, seen } = await open();
    const verdict = Date.now() - begun;
    await page.screenshot({ path: `${folder}/desktop.png`, fullPage: true });
    return { verdict, wrong: await page.locator(".wrong:not(noscript *)").count(), items: await page.locator("[role=treeitem]").count(), status: await page.textContent("#status"), ...seen };
  },
  async slow() { // a browser that cannot start from the memory of the build
    const { page } = await open("", {}, "**/python.gz");
    await write(page, job("train"));
    return { items: await page.locator("[role=treeitem]").count(), status: await page.textContent("#status") };
  },
  async typing() {
    const { page } = await open();
    await write(page, Array.from({ length: 50 }, (_, number) => job(`train-${number}`)).join("---\n"));
    const times = [];
    for (let round = 0; round < 8; round += 1) {
      const before = await answered(page);
      const begun = Date.now();
      await page.keyboard.type("#");
      await next(page, before);
      times.push(Date.now() - begun);
    }
    return { times, status: await page.textContent("#status") };
  },
  async large() {
    const { page } = await open();
    await page.evaluate(() => { // the longest time in which the page did nothing else
      let last = performance.now();
      window.longest = 0;
      const tick = () => { const now = performance.now(); window.longest = Math.max(window.longest, now - last); last = now; setTimeout(tick, 0); };
      tick();
    });
    const before = await answered(page);
    const jobs = Array.from({ length: 3000 }, (_, number) => job(`train-${number}`)).join("---\n");
    await pasteInto(page, jobs);
    await page.waitForFunction(() => document.querySelector("#status").textContent === "Checking…");
    await page.waitForFunction((last) => Number(document.body.dataset.answered) > last, before, { timeout: 180_000, polling: 200 });
    const told = await page.textContent("#status");
    await page.evaluate(() => { window.longest = 0; });
    await page.keyboard.type("#");
    await page.waitForTimeout(500);
    const blocked = await page.evaluate(() => window.longest);
    const view = await page.textContent("#view");
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    const heap = await page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
    const memory = weigh();
    await pasteInto(page, jobs.repeat(6));
    await page.waitForFunction(() => document.querySelector("#status").textContent.includes("too large"));
    const status = await page.textContent("#status");
    await pasteInto(page, job("again")); // after the answer to the keystroke, the small text is checked
    await page.waitForFunction(() => document.querySelectorAll("[role=treeitem]").length === 3, null, { timeout: 120_000, polling: 200 });
    return { told, blocked, elements, heap, memory, more: view.match(/[\d,]+ more trees.*/)?.[0], status };
  },
  async finding() {
    const { page } = await open();
    await write(page, job("train").replace("parallelism: 2", "parallelism: -1"));
    const text = await page.textContent("#findings");
    await page.locator("#findings .error button").first().click();
    const line = await page.evaluate(() => document.querySelector(".cm-activeLine")?.textContent);
    return { text, line, marks: await page.locator(".cm-lint-marker-error").count() };
  },
  async early() {
    const page = await desktop.newPage();
    await page.route("**/worker.js", (route) => route.abort());
    await page.goto(address);
    await page.waitForSelector("[role=treeitem]");
    return { items: await page.locator("[role=treeitem]").count(), dots: await page.locator(".dots i").count() };
  },
  async silent() {
    const { page } = await open("", { viewport: { width: 390, height: 844 }, bypassCSP: true });
    const before = await answered(page);
    await page.getByRole("button", { name: "Accepted, and never scheduled" }).click();
    await next(page, before);
    await page.waitForTimeout(500);
    await page.screenshot({ path: `${folder}/silent.png`, fullPage: true });
    await page.addScriptTag({ content: axe });
    const { violations } = await page.evaluate(() => window.axe.run());
    const found = violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map(({ id }) => id);
    return { never: await page.locator(".never").count(), first: await page.locator("#findings li").first().textContent(), found };
  },
  async rules() {
    const found = [];
    const told = {};
    for (const [name, options] of Object.entries({
      desktop: { viewport: { width: 1280, height: 900 }, colorScheme: "light" },
      phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, colorScheme: "dark" },
    })) {
      const page = await (await browser.newContext({ ...options, bypassCSP: true })).newPage();
      await page.goto(`${address}/rules/#symptom=pending&release=1.36`);
      await page.screenshot({ path: `${folder}/rules-${name}.png` });
      told[name] = { wide: await page.evaluate(() => document.documentElement.scrollWidth), status: await page.textContent("#status") };
      await page.addScriptTag({ content: axe });
      const { violations } = await page.evaluate(() => window.axe.run());
      found.push(...violations.filter(({ impact }) => ["serious", "critical"].includes(impact)).map(({ id, nodes }) => [id, nodes[0].html]));
    }
    const page = await desktop.newPage();
    const errors = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    await page.goto(`${address}/rules/`);
    const all = await page.locator("#rules li:visible").count();
    const focused = () => page.evaluate(() => document.activeElement.value ?? document.activeElement.textContent);
    const shown = async () => (await page.locator("#rules li:visible a").allTextContents());
    await page.keyboard.press("Tab"); // to the rules
    for (let press = 0; press < 7; press += 1) await page.keyboard.press("Tab"); // the brand, five links, the symptoms
    const symptom = await page.evaluate(() => document.activeElement.name);
    await page.keyboard.press("ArrowRight");
    const pending = await shown();
    await page.keyboard.press("Tab");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    const scheduler = await shown();
    await page.keyboard.press("/");
    await page.keyboard.type("minCount is");
    const words = await shown();
    await page.keyboard.press("ArrowDown");
    const first = await focused();
    const hash = await page.evaluate(() => window.location.hash);
    await page.keyboard.press("Escape");
    await page.waitForFunction((wanted) => document.querySelectorAll("#rules li:not([hidden])").length === wanted, all);
    await page.goto(`${address}/rules/#stage=%3Cimg%20src=x%3E`);
    await page.reload();
    const broken = await page.locator("#rules li:visible").count();
    return { found, told, all, symptom, pending: pending.length, scheduler: scheduler.length, words, first, hash, broken, errors };
  },
  async views() {
    const { page } = await open();
    await page.getByRole("button", { name: "Does it fit?" }).click();
    await page.waitForSelector("#view img", { timeout: 30_000 });
    const loaded = await page.evaluate(async () => { await document.querySelector("#view img").decode(); return true; });
    const fit = await page.textContent("#view pre");
    await page.screenshot({ path: `${folder}/fit.png`, fullPage: true });
    await page.getByRole("button", { name: "A Job" }).click();
    await page.click("#tab-generated");
    await page.waitForFunction(() => document.querySelector("#view pre")?.textContent.includes("kind: PodGroup"));
    await page.click("#tab-diff");
    await page.waitForFunction(() => document.querySelector("#view pre")?.textContent.includes("unchanged"));
    await write(page, job("allreduce").replaceAll("2\n", "4\n"));
    await page.waitForFunction(() => document.querySelector("#view pre")?.textContent.includes("spec.parallelism"));
    const plan = await page.textContent("#view pre");
    await page.selectOption("#kubernetes", "1.35");
    await page.click("#tab-generated");
    await page.waitForFunction(() => document.querySelector("#view pre")?.textContent.includes("v1alpha1"));
    return { loaded, fit, plan };
  },
  async files() {
    const { page } = await open();
    await page.setInputFiles("#chosen", [
      { name: "one.yaml", mimeType: "text/yaml", buffer: Buffer.from(job("one")) },
      { name: "two.yaml", mimeType: "text/yaml", buffer: Buffer.from(job("two")) },
    ]);
    await page.waitForFunction(() => document.querySelector("#view")?.textContent.includes("job-two"));
    const names = await page.locator("#files [role=tab]").allTextContents();
    await page.click("#remove");
    await page.waitForFunction(() => !document.querySelector("#view")?.textContent.includes("job-one"));
    const bytes = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff, 0xfe]);
    await page.setInputFiles("#chosen", { name: "picture.png", mimeType: "image/png", buffer: bytes });
    await page.waitForSelector("#notice:not([hidden])");
    return { names, notice: await page.textContent("#notice"), tabs: await page.locator("#files [role=tab]").allTextContents() };
  },
  async link() {
    const { page } = await open();
    await write(page, job("shared"));
    await page.selectOption("#kubernetes", "1.36");
    await page.click("#share");
    await page.waitForFunction(() => window.location.hash.length > 10);
    const fragment = await page.evaluate(() => window.location.hash);
    const other = (await open(fragment)).page;
    const text = await other.evaluate(() => document.querySelector("#editor .cm-content").textContent);
    const kubernetes = await other.inputValue("#kubernetes");
    const broken = await open("#%3Cimg src=x%3E");
    const cut = (await open(fragment.slice(0, fragment.length / 2))).page;
    const notices = [await broken.page.textContent("#notice"), await cut.textContent("#notice"), await other.textContent("#notice")];
    return { text, kubernetes, broken: await broken.page.locator("[role=treeitem]").count(), errors: broken.seen.errors, notices };
  },
  async phone() {
    const { page } = await open("", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    await page.screenshot({ path: `${folder}/phone.png`, fullPage: true });
    return { wide };
  },
  async keyboard() {
    const { page } = await open();
    const stops = [];
    for (let press = 0; press < 60; press += 1) {
      await page.keyboard.press("Tab");
      const stop = await page.evaluate(() => {
        const at = document.activeElement;
        return at.id || at.className || at.getAttribute("aria-label") || at.tagName;
      });
      stops.push(stop);
      if (stop.startsWith("cm-content")) {
        await page.keyboard.press("Control+Home");
        await page.keyboard.type("# typed\n");
      }
      if (stop === "tab-tree") await page.keyboard.press("ArrowRight");
      if (stop === "tab-generated") break;
    }
    await page.waitForFunction(() => document.querySelector("#view pre")?.textContent.includes("kind: PodGroup"));
    const first = await page.evaluate(() => document.querySelector(".cm-line").textContent);
    await page.keyboard.press("ArrowLeft");
    await page.waitForSelector("[role=treeitem]");
    await page.focus("[role=treeitem]");
    await page.keyboard.press("ArrowDown");
    const item = await page.evaluate(() => document.activeElement.textContent);
    return { stops, first, item };
  },
  async reader() {
    const found = [];
    for (const colorScheme of ["light", "dark"]) {
      const { page } = await open("", { viewport: { width: 1280, height: 900 }, colorScheme, bypassCSP: true });
      await write(page, job("train").replace("parallelism: 2", "parallelism: -1"));
      await write(page, job("train"));
      await page.waitForTimeout(500); // the trees have appeared
      await page.screenshot({ path: `${folder}/${colorScheme}.png` });
      await page.addScriptTag({ content: axe });
      const told = await page.evaluate(() => window.axe.run());
      found.push(...told.violations.map(({ id, impact, nodes }) => ({ colorScheme, id, impact, at: nodes.map((node) => node.html) })));
    }
    return { found };
  },
  async hostile() {
    const { page, seen } = await open();
    const evil = "<img src=x onerror=window.hacked=1><svg onload=window.hacked=1>";
    await write(page, job(`"${evil}"`).replace("example.com/a:1", `"${evil}"`) + `---\n${job("b").replaceAll("name: b", `name: 'javascript:alert(1)//${evil}'`)}`);
    for (const tab of ["generated", "diff", "fit", "tree"]) {
      const before = await answered(page);
      await page.click(`#tab-${tab}`);
      await next(page, before);
    }
    const hacked = await page.evaluate(() => window.hacked ?? null);
    const images = await page.locator("#view img, #findings img").count();
    await write(page, job('"a\u202eb\u200b"'));
    const hidden = await page.evaluate(() => [...document.querySelectorAll("#view, #findings")].map((each) => each.textContent).join(""));
    const before = await answered(page);
    await pasteInto(page, job('"a\ud800"')); // half of a character, which no file in UTF-8 can have
    await next(page, before);
    const half = await page.textContent("#findings");
    await write(page, "a: &a [x, x]\n".concat(..."bcdefghijklmnop".split("").map((key, at) => `${key}: &${key} [${Array(9).fill(`*${"abcdefghijklmno"[at]}`)}]\n`)));
    await write(page, job("again"));
    return { hacked, images, hidden, half, wrong: await page.locator(".wrong:not(noscript *)").count(), status: await page.textContent("#status"), ...seen };
  },
};

const chosen = process.argv[5]?.split(",") ?? Object.keys(scenarios);
for (const name of chosen) {
  try {
    console.log(JSON.stringify({ name, ...(await scenarios[name]()) }));
  } catch (error) {
    console.log(JSON.stringify({ name, failed: String(error) }));
  }
  for (const context of browser.contexts()) for (const page of context.pages()) await page.close();
}
await browser.close();
