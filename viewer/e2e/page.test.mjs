// The page in a real browser. Against the mock, or the daemon of HAPTICD_VIEWER_URL.
//
// Delays that are promised are measured in the page, and the least of several counts: a busy machine only adds to them.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { browser, calm, daemon, open, reaches, shot, start, state, target, until } from "./browser.mjs";

let chromium;
let server;

before(async () => {
  server = await target();
  chromium = await browser();
});
after(async () => {
  await chromium?.close();
  await server?.close();
});

/** Runs a test on a page of its own; the browser must have nothing to complain of. */
function onPage(name, options, body) {
  test(name, async (context) => {
    const { page, complaints } = await open(chromium, server.url, options);
    try {
      await body(page, context);
      assert.deepEqual(complaints, []);
    } finally {
      await page.context().close();
    }
  });
}

const look = async (page, selector) =>
  createHash("sha256")
    .update(await page.locator(selector).first().screenshot())
    .digest("hex");

/** Presses Stop; milliseconds until FAULT is on screen, measured in the page. */
const stopTime = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        const word = document.getElementById("state-word");
        const began = performance.now();
        const seen = () => {
          if (word.textContent === "FAULT") {
            observer.disconnect();
            requestAnimationFrame(() => resolve(performance.now() - began));
          }
        };
        const observer = new MutationObserver(seen);
        observer.observe(word, { childList: true, characterData: true, subtree: true });
        document.getElementById("halt").click();
      }),
  );

onPage("shows state, scene and figures", {}, async (page) => {
  await calm(page);
  assert.equal(await state(page), "DISABLED");
  await until(page, () => /of [\d.]+ N/.test(document.getElementById("force-value").textContent));
  await until(page, () => /µs/.test(document.getElementById("late").textContent));
  assert.match(await page.textContent("#tool-place"), /^tool -?[\d.]+, -?[\d.]+, -?[\d.]+ mm/);
  assert.match(await page.title(), /^DISABLED/);
  await until(page, () => document.querySelectorAll("#panel .row").length >= 5);
});

onPage("scene and plots move while the task runs", {}, async (page) => {
  await start(page);
  const [scene, plot] = [await look(page, ".canvas canvas"), await look(page, ".plot canvas")];
  await page.waitForTimeout(1500);
  assert.notEqual(await look(page, ".canvas canvas"), scene, "the scene stands still");
  assert.notEqual(await look(page, ".plot canvas"), plot, "the plots stand still");
  await shot(page, "light");
  await calm(page);
});

onPage("Stop leads to FAULT on screen within 200 ms", {}, async (page, context) => {
  const times = [];
  for (let k = 0; k < 5; k++) {
    await start(page);
    times.push(await stopTime(page));
  }
  context.diagnostic(`Stop to FAULT: ${times.map((time) => time.toFixed(0)).join(", ")} ms`);
  assert.ok(Math.min(...times) < 200, `${times}`);
  await calm(page);
});

onPage("a fault has cause and remedy, and acknowledging it never starts", { scheme: "dark" }, async (page) => {
  await start(page);
  await page.click("#halt");
  await reaches(page, "FAULT");
  await page.waitForSelector("#faults .fault.high .remedy");
  assert.match(await page.textContent("#faults .fault .head"), /High.*F06/s);
  assert.ok((await page.textContent("#faults .fault .cause")).length > 5);
  assert.match(await page.textContent("#faults .fault .remedy"), /What to do: .{5}/);
  assert.equal(await page.getAttribute("#start", "aria-disabled"), "true");
  await shot(page, "dark");
  await page.click("#faults .fault button");
  await reaches(page, "DISABLED");
});

onPage("Escape and Space stop; Space in a field types", {}, async (page) => {
  const keyed = async (prepare, key) => {
    await start(page);
    await prepare();
    await page.keyboard.press(key);
  };
  await keyed(() => page.focus("#record-name"), "Escape");
  await reaches(page, "FAULT");
  await keyed(() => page.focus("#pause"), "Space");
  await reaches(page, "FAULT");
  await keyed(() => page.focus("#record-name"), "Space");
  assert.equal(await page.inputValue("#record-name"), " ");
  await page.waitForTimeout(300);
  assert.equal(await state(page), "ENABLED");
  await calm(page);
});

onPage("pause and resume are one button", {}, async (page) => {
  await calm(page);
  await page.focus("#start");
  await page.keyboard.press("Enter");
  await reaches(page, "ENABLED");
  await page.click("#pause");
  await reaches(page, "PAUSED");
  assert.equal(await page.textContent("#pause"), "Resume");
  await page.click("#pause");
  await reaches(page, "ENABLED");
  await calm(page);
});

onPage("a parameter shows what was accepted and why it was refused", {}, async (page) => {
  await calm(page);
  const row = page.locator(".row", { has: page.locator("#set-hapticd-coupling-stiffness") });
  const entry = row.locator("input[type=number]");
  const set = async (text) => {
    await entry.fill(text);
    await entry.press("Enter");
  };
  await entry.waitFor();
  const before = await entry.inputValue();
  await set("612");
  await until(page, () =>
    /^612 N\/m/.test(document.querySelector("output[for='set-hapticd-coupling-stiffness']").textContent),
  );
  assert.ok(Math.abs(Number(await row.locator("input[type=range]").inputValue()) - 612) < 20);
  await set("1e9");
  await row.locator(".refused").waitFor({ state: "visible" });
  assert.match(await row.locator(".refused").textContent(), /range|most|between|from/);
  assert.equal(await entry.inputValue(), "612");
  assert.match(await row.locator(".note").textContent(), /[\d.]+ N\/m/);
  await set(before);
});

onPage("a scene is loaded in DISABLED", {}, async (page) => {
  await calm(page);
  const first = await page.inputValue("#scene-choice");
  for (const name of ["virtual_wall", first]) {
    await page.selectOption("#scene-choice", name);
    await page.click("#scene-form button");
    await until(page, (wanted) => document.getElementById("setup-now").textContent.startsWith(`${wanted} on`), name);
    await until(page, () => document.body.dataset.link === "live");
  }
});

test("a body that deforms is drawn, coloured and can be cut", { skip: daemon !== undefined }, async () => {
  const { page, complaints } = await open(chromium, server.url);
  try {
    await calm(page);
    await page.selectOption("#scene-choice", "soft_slab");
    await page.click("#scene-form button");
    await page.waitForSelector("#stress:not([hidden])");
    assert.match(await page.textContent("#stress"), /20(\.0)? kPa/);
    await page.click("#start");
    await page.waitForTimeout(1500);
    const whole = await page.locator(".canvas canvas").screenshot();
    await page.waitForTimeout(700);
    assert.notDeepEqual(await page.locator(".canvas canvas").screenshot(), whole, "the skin stands still");
    await shot(page, "soft");
    await page.click("#pause");
    await page.waitForTimeout(600);
    const before = await page.locator(".canvas canvas").screenshot();
    await page.selectOption("#cut-axis", "y");
    await page.waitForTimeout(600);
    assert.notDeepEqual(await page.locator(".canvas canvas").screenshot(), before, "the cut hides nothing");
    await shot(page, "soft-cut");
    await calm(page);
    await page.selectOption("#scene-choice", "peg_primitive");
    await page.click("#scene-form button");
    await page.waitForSelector("#stress", { state: "hidden" });
    assert.deepEqual(complaints, []);
  } finally {
    await page.context().close();
  }
});

onPage("everything that can be used has a name", {}, async (page) => {
  await until(page, () => document.querySelectorAll("#panel .row").length >= 5);
  const nameless = await page.evaluate(() =>
    [...document.querySelectorAll("button, input, select, summary, [tabindex]")]
      .filter((one) => !one.closest("[hidden]"))
      .filter(
        (one) => !(one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.[0]?.textContent.trim()),
      )
      .map((one) => one.outerHTML),
  );
  assert.deepEqual(nameless, []);
  await page.keyboard.press("Tab");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid");
});

onPage("a page that looks on has no controls and stops nothing", { query: "?view" }, async (page) => {
  for (const id of ["#halt", "#start", "#panel", "#record-form", "#scene-form"]) {
    assert.equal(await page.isVisible(id), false, id);
  }
  const before = await state(page);
  await page.keyboard.press("Escape");
  await page.waitForTimeout(400);
  assert.equal(await state(page), before);
});

test("where only reading is allowed the controls go and Stop stays", { skip: daemon !== undefined }, async () => {
  const { page } = await open(chromium, server.url);
  try {
    await calm(page);
    server.mock.readOnly = true;
    await page.click("#start");
    await page.waitForSelector("#start", { state: "hidden" });
    assert.match(await page.textContent("#answer"), /only look on/);
    await page.click("#halt");
    await reaches(page, "FAULT");
  } finally {
    server.mock.readOnly = false;
    await page.context().close();
  }
});

onPage("fits a phone, with Stop always in reach", { width: 360, height: 740 }, async (page) => {
  await page.waitForTimeout(500);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360);
  await shot(page, "phone", { fullPage: true });
  await page.evaluate(() => window.scrollTo(0, document.body.scrollHeight));
  const box = await page.locator("#halt").boundingBox();
  assert.ok(box.y >= 0 && box.y + box.height <= 740 && box.x + box.width <= 360, JSON.stringify(box));
  await page.click("#halt");
  await reaches(page, "FAULT");
  await page.evaluate(() => window.scrollTo(0, 0));
  await shot(page, "phone-fault");
  await calm(page);
});

onPage("a task from start to end with the keyboard alone", {}, async (page) => {
  const focused = (what) => page.evaluate((wanted) => document.activeElement?.matches(wanted), what);
  const tabTo = async (what) => {
    for (let k = 0; k < 200 && !(await focused(what)); k += 1) await page.keyboard.press("Tab");
    assert.ok(await focused(what), `${what} cannot be reached`);
  };
  await until(page, () => document.querySelectorAll("#panel .row").length >= 5);
  await calm(page);
  await page.evaluate(() => document.activeElement.blur());
  await tabTo("#start");
  await page.keyboard.press("Enter");
  await reaches(page, "ENABLED");
  // A slider by its arrows; the daemon takes the value over.
  const told = () => page.textContent("output[for='set-hapticd-coupling-stiffness']");
  const before = await told();
  await tabTo(".row:has(#set-hapticd-coupling-stiffness) input[type=range]");
  await page.keyboard.press("ArrowRight");
  await until(
    page,
    (text) => document.querySelector("output[for='set-hapticd-coupling-stiffness']").textContent !== text,
    before,
  );
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Escape");
  await reaches(page, "FAULT");
  const id = await page.getAttribute('#faults [id^="ack-"]', "id");
  await tabTo(`#${id}`);
  await page.keyboard.press("Enter");
  await reaches(page, "DISABLED");
  // The view, and another scene.
  const seen = await look(page, ".canvas canvas");
  await tabTo(".canvas canvas");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await page.waitForTimeout(600);
  assert.notEqual(await look(page, ".canvas canvas"), seen, "the view does not turn");
  await tabTo("#scene-choice");
  const first = await page.inputValue("#scene-choice");
  await page.keyboard.press("ArrowDown");
  const other = await page.inputValue("#scene-choice");
  assert.notEqual(other, first);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await until(page, (wanted) => document.getElementById("setup-now").textContent.startsWith(`${wanted} on`), other);
  await page.selectOption("#scene-choice", first);
  await page.click("#scene-form button");
  await until(page, (wanted) => document.getElementById("setup-now").textContent.startsWith(`${wanted} on`), first);
});

test("light and dark differ", async () => {
  const colours = [];
  for (const scheme of ["light", "dark"]) {
    const { page } = await open(chromium, server.url, { scheme });
    colours.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    await page.context().close();
  }
  assert.notEqual(colours[0], colours[1]);
});

test("without WebGL everything but the 3-D works", async () => {
  const plain = await browser({ webgl: false });
  try {
    const { page, complaints } = await open(plain, server.url);
    await calm(page);
    assert.equal(await page.isVisible("#no-3d"), true);
    await page.click("#start");
    await reaches(page, "ENABLED");
    const plot = await look(page, ".plot canvas");
    await page.waitForTimeout(1000);
    assert.notEqual(await look(page, ".plot canvas"), plot);
    await page.click("#halt");
    await reaches(page, "FAULT");
    await shot(page, "no-webgl");
    await calm(page);
    assert.deepEqual(complaints, []);
  } finally {
    await plain.close();
  }
});

/** Makes the mock die or fall silent; milliseconds until the page says so. */
async function timeToNotice(page, harm) {
  await page.evaluate(() => {
    window.noticed = new Promise((resolve) => {
      const word = document.getElementById("state-word");
      new MutationObserver(() => word.textContent === "NO CONNECTION" && resolve(Date.now())).observe(word, {
        childList: true,
      });
    });
  });
  const began = Date.now();
  await harm();
  return (await page.evaluate(() => window.noticed)) - began;
}

test(
  "a daemon that dies or falls silent is told within 1 s, and found again",
  { skip: daemon !== undefined },
  async (context) => {
    let mine = await target();
    const { page } = await open(chromium, mine.url);
    const times = { dies: [], silent: [] };
    try {
      for (let k = 0; k < 3; k++) {
        times.dies.push(await timeToNotice(page, () => mine.close()));
        assert.equal(await page.isVisible("#notice"), true);
        await page.click("#halt");
        assert.match(await page.textContent("#notice"), /Stop cannot be sent/);
        if (k === 0) assert.match(await page.textContent("#faults"), /Not known/);
        if (k === 0) await shot(page, "no-connection");
        mine = await target(mine.port);
        // The stop that could not be sent arrives with the new connection.
        await reaches(page, "FAULT");
        await until(page, () => document.body.dataset.link === "live");
        assert.equal(await page.isVisible("#notice"), false);
        const send = mine.mock.turn.bind(mine.mock);
        const harm = () => {
          mine.mock.turn = () => {};
          mine.mock.take = () => Buffer.alloc(0);
        };
        times.silent.push(await timeToNotice(page, harm));
        mine.mock.turn = send;
        delete mine.mock.take;
        await until(page, () => document.body.dataset.link === "live");
      }
      context.diagnostic(`noticed death after ${times.dies} ms, silence after ${times.silent} ms`);
      assert.ok(Math.min(...times.dies) < 1000 && Math.min(...times.silent) < 1000, JSON.stringify(times));
    } finally {
      await page.context().close();
      await mine.close();
    }
  },
);
