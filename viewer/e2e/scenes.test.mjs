// Every shipped scene on the real daemon, in a real browser. Scenes that are added are covered without a change here.
//
// Delays that are promised: the least of several counts, for a busy machine only adds to them.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { browser, calm, open, reaches, shot, until } from "./browser.mjs";
import { clock, command, isBuilt, listen, program, scenes, service } from "./daemon.mjs";

/** Tries at most for a delay; the first that keeps the promise ends them. */
const TRIES = 10;
const STOP_MS = 200;
let chromium;

before(async () => {
  chromium = await browser();
});
after(async () => {
  await chromium?.close();
});

const look = async (page, selector) =>
  createHash("sha256")
    .update(await page.locator(selector).first().screenshot())
    .digest("hex");

/** Waits until an element looks otherwise than before. */
async function changes(page, selector, before) {
  for (let k = 0; k < 40; k++) {
    if ((await look(page, selector)) !== before) return true;
    await page.waitForTimeout(250);
  }
  return false;
}

async function start(page) {
  await calm(page);
  await page.click("#start");
  await reaches(page, "ENABLED");
}

/** From the order to click Stop until the daemon was in FAULT by its own clock, ms. */
async function stopDelays(page, url) {
  const ear = await listen(url);
  const delays = [];
  while (delays.length < TRIES && !delays.some((delay) => delay < STOP_MS)) {
    await start(page);
    await page.waitForTimeout(300);
    const fault = ear.next("/hapticd/event/fault");
    const began = clock();
    await page.evaluate(() => document.getElementById("halt").click());
    const [, code, , , , , at] = await fault;
    assert.equal(code, "F06");
    delays.push(1e3 * (at - began));
    await reaches(page, "FAULT");
  }
  ear.close();
  return delays;
}

/** Kills the daemon; ms until the page says so. */
async function deathNotice(page, daemon) {
  await page.evaluate(() => {
    window.noticed = new Promise((resolve) => {
      const word = document.getElementById("state-word");
      new MutationObserver(() => word.textContent === "NO CONNECTION" && resolve(Date.now())).observe(word, {
        childList: true,
      });
    });
  });
  const began = Date.now();
  await daemon.end("SIGKILL");
  return (await page.evaluate(() => window.noticed)) - began;
}

async function pictures(page, scene) {
  await shot(page, `${scene}-light`);
  await page.emulateMedia({ colorScheme: "dark" });
  await page.waitForTimeout(1200);
  await shot(page, `${scene}-dark`);
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 360, height: 740 });
  await page.waitForTimeout(1500);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, "wider than a phone");
  await shot(page, `${scene}-phone`);
  await page.setViewportSize({ width: 1400, height: 850 });
}

/** The service, or nothing for a scene that it does not serve because it is for two hands. */
async function serve(scene) {
  try {
    return await service(scene);
  } catch (error) {
    assert.match(error.message, /is a scene for two hands, and the service has one/);
    return undefined;
  }
}

/** The same in a demo, which goes by itself and ends when it is halted; a new one for each look, as they are short. */
async function watch(scene) {
  const looks = { light: {}, dark: { scheme: "dark" }, phone: { width: 360, height: 740 } };
  for (const [name, look] of Object.entries(looks)) {
    await watchOnce(scene, name, look);
  }
}

async function watchOnce(scene, name, options) {
  const daemon = await command("demo", scene);
  try {
    const { page, complaints } = await open(chromium, daemon.url, options);
    const { bodies } = await (await page.request.get(`${daemon.url}scene.json`)).json();
    assert.ok(bodies.some((body) => body.name === "second hand" && body.shape.kind !== undefined), "one tool only");
    const canvas = await look(page, ".canvas canvas");
    assert.ok(await changes(page, ".canvas canvas", canvas), "the scene stands still");
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= (options.width ?? 1400));
    await shot(page, `${scene}-${name}`);
    assert.deepEqual(complaints, []);
    await page.evaluate(() => document.getElementById("halt").click());
    assert.equal(await daemon.ended, 4, "halted from the page");
    await until(page, () => document.getElementById("state-word").textContent === "NO CONNECTION");
    await page.context().close();
  } finally {
    await daemon.end("SIGTERM");
  }
}

if (!isBuilt) {
  test(`the daemon in ${program}`, { skip: "it is not built" }, () => {});
}

for (const scene of isBuilt ? scenes() : []) {
  test(`${scene}: loads, moves, stops, tells faults, is missed and found again`, async (context) => {
    let daemon = await serve(scene);
    if (daemon === undefined) {
      await watch(scene);
      return;
    }
    try {
      const { page, complaints } = await open(chromium, daemon.url);
      await until(page, (name) => document.getElementById("setup-now").textContent.startsWith(`${name} on`), scene);
      // Before the start, because a short task may be over before a slow machine has taken two pictures of it.
      await calm(page);
      const [canvas, plot] = [await look(page, ".canvas canvas"), await look(page, ".plot canvas")];
      await start(page);
      assert.ok(await changes(page, ".canvas canvas", canvas), "the scene stands still");
      assert.ok(await changes(page, ".plot canvas", plot), "the plots stand still");
      await page.waitForTimeout(1500);
      await pictures(page, scene);
      const delays = await stopDelays(page, daemon.url);
      context.diagnostic(`Stop to FAULT on the daemon's clock: ${delays.map((delay) => delay.toFixed(0))} ms`);
      assert.ok(Math.min(...delays) < STOP_MS, `${delays}`);
      await page.waitForSelector("#faults .fault.high .remedy");
      assert.match(await page.textContent("#faults .fault .cause"), /Stopped by/);
      assert.match(await page.textContent("#faults .fault .remedy"), /What to do: .{5}/);
      assert.deepEqual(complaints, []);
      // On a busy machine the browser may be kept waiting; three tries, of which one must be in time.
      let noticed = Infinity;
      for (let tries = 0; tries < 3 && noticed >= 1000; tries += 1) {
        if (tries > 0) {
          daemon = await service(scene, daemon.port);
          await until(page, () => document.body.dataset.link === "live");
        }
        noticed = await deathNotice(page, daemon);
        context.diagnostic(`death noticed after ${noticed} ms`);
      }
      assert.ok(noticed < 1000, `${noticed} ms`);
      await shot(page, `${scene}-gone`);
      daemon = await service(scene, daemon.port);
      await until(page, () => document.body.dataset.link === "live");
      await start(page);
      await page.context().close();
    } finally {
      await daemon.end("SIGTERM");
    }
  });
}
