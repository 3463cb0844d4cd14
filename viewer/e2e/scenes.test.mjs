// Every shipped scene on the real daemon, in a real browser. Scenes that are added are covered without a change here.
//
// Delays that are promised are judged twice. Most tries must keep the promise as it stands; a busy machine, which only
// adds to them, is given more tries. And each must keep it in the time in which nobody on this machine waited for a
// processor, by the kernel's account.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { browser, calm, open, reaches, shot, start, until } from "./browser.mjs";
import { clock, command, crowdedMs, isBuilt, listen, program, scenes, service } from "./daemon.mjs";

/** Presses of Stop in each scene, and how many are made at most until more than half keep the promise. */
const PRESSES = 3;
const TRIES = 10;
const STOP_MS = 200;
const GONE_MS = 1000;
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

/** Notes when a click reaches the page and when Stop leaves it, by the page's clock. */
async function watchStop(page) {
  await page.evaluate(() => {
    const note = (window.pressed = {});
    const button = document.getElementById("halt");
    // The moment at which the browser took the click, not that at which the page got round to it.
    button.addEventListener("click", (event) => (note.at = event.timeStamp), { capture: true });
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) {
      send.call(this, data);
      if (note.sent === undefined && new TextDecoder().decode(data).startsWith("/hapticd/halt\0")) {
        note.sent = performance.now();
      }
    };
  });
}

/** What to add to the page's clock to have the daemon's, ms, and how far off that may be. */
async function offset(page) {
  let [least, most] = [-Infinity, Infinity];
  for (let k = 0; k < 8; k++) {
    const before = 1e3 * clock();
    const now = await page.evaluate(() => performance.now());
    [least, most] = [Math.max(least, before - now), Math.min(most, 1e3 * clock() - now)];
  }
  return { add: (least + most) / 2, off: (most - least) / 2 };
}

/**
 * One press of Stop: from the click to the page's sending it, and from there to FAULT by the daemon's clock, ms.
 * Nothing when the daemon was in FAULT already: on a starved machine it gets there by itself.
 */
async function press(page, ear) {
  await start(page);
  await page.waitForTimeout(300);
  const { x, y, width, height } = await page.locator("#halt").boundingBox();
  const { add, off } = await offset(page);
  await page.evaluate(() => Object.assign(window.pressed, { at: undefined, sent: undefined }));
  const fault = ear.next("/hapticd/event/fault", ([, code]) => code === "F06");
  const crowded = crowdedMs();
  await page.mouse.click(x + width / 2, y + height / 2);
  const entry = await Promise.race([fault, reaches(page, "FAULT").then(() => page.waitForTimeout(2000))]);
  const waited = crowdedMs() - crowded;
  if (entry === undefined) return undefined;
  const at = entry[6];
  await reaches(page, "FAULT");
  const pressed = await page.evaluate(() => window.pressed);
  const all = 1e3 * at - (pressed.at + add);
  // Word of an earlier halt that was late: this press is not judged by it.
  if (all < -2 * off - 2) return undefined;
  const [inPage, inDaemon] = [pressed.sent - pressed.at, 1e3 * at - (pressed.sent + add)];
  return { page: inPage, daemon: inDaemon, all, off, own: Math.max(0, all - waited) };
}

/** Stop leads to FAULT in time, from the click in the browser to the tick that cut the force. */
async function stops(page, url, context) {
  const ear = await listen(url);
  await watchStop(page);
  const presses = [];
  const most = () => 2 * presses.filter(({ all }) => all < STOP_MS).length > presses.length;
  const enough = () => presses.length >= PRESSES && most();
  for (let tries = 0; tries < TRIES && !enough(); tries += 1) {
    presses.push(...[await press(page, ear)].filter((one) => one !== undefined));
  }
  ear.close();
  const list = (part) => presses.map((one) => one[part].toFixed(0)).join(", ");
  const parts = `page ${list("page")}, daemon ${list("daemon")} (± ${list("off")})`;
  const text = `Stop to FAULT ${list("all")} ms: ${parts}; with a processor free ${list("own")} ms`;
  context.diagnostic(text);
  assert.ok(most(), text);
  assert.ok(presses.every(({ own }) => own < STOP_MS), text);
  // The frame cannot have been sent before the click, nor the tick have come before the frame.
  assert.ok(presses.every((one) => one.page >= 0 && one.daemon >= -2 * one.off - 2), text);
}

/** Kills the daemon; ms until the page says so, and of these with a processor free. */
async function deathNotice(page, daemon) {
  await page.evaluate(() => {
    window.noticed = new Promise((resolve) => {
      const word = document.getElementById("state-word");
      new MutationObserver(() => word.textContent === "NO CONNECTION" && resolve(Date.now())).observe(word, {
        childList: true,
      });
    });
  });
  const [began, crowded] = [Date.now(), crowdedMs()];
  await daemon.end("SIGKILL");
  const all = (await page.evaluate(() => window.noticed)) - began;
  return { all, own: Math.max(0, all - (crowdedMs() - crowded)) };
}

/** Cut open, the scene at rest looks otherwise; where a body deforms, the scale of its colours stands below. */
async function cuts(page, skins) {
  const whole = await look(page, ".canvas canvas");
  await page.selectOption("#cut-axis", "y");
  assert.ok(await changes(page, ".canvas canvas", whole), "the cut hides nothing");
  await page.selectOption("#cut-axis", "");
  assert.equal(await page.isVisible("#stress"), skins.length > 0, "the scale of stress");
}

async function pictures(page, scene, skins) {
  await shot(page, `${scene}-light`);
  if (skins.length > 0) {
    await page.selectOption("#cut-axis", "y");
    await page.waitForTimeout(600);
    await shot(page, `${scene}-cut`);
    await page.selectOption("#cut-axis", "");
  }
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

/** The service, or nothing for a scene it does not serve: for two hands, or for more buttons than its device has. */
async function serve(scene) {
  try {
    return await service(scene);
  } catch (error) {
    assert.match(error.message, /is a scene for two hands, and the service has one|the device has no such button/);
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
    const second = bodies.some((body) => body.name === "second hand" && body.shape.kind !== undefined);
    assert.ok(second || scene !== "two_hands", "as many tools as hands");
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
      const { skins } = await (await page.request.get(`${daemon.url}scene.json`)).json();
      // Before the start, because a short task may be over before a slow machine has taken two pictures of it.
      await calm(page);
      await cuts(page, skins);
      const [canvas, plot] = [await look(page, ".canvas canvas"), await look(page, ".plot canvas")];
      await start(page);
      assert.ok(await changes(page, ".canvas canvas", canvas), "the scene stands still");
      assert.ok(await changes(page, ".plot canvas", plot), "the plots stand still");
      await page.waitForTimeout(1500);
      await pictures(page, scene, skins);
      await stops(page, daemon.url, context);
      await page.waitForSelector("#faults .fault.high .remedy");
      assert.match(await page.textContent("#faults .fault .cause"), /Stopped by/);
      assert.match(await page.textContent("#faults .fault .remedy"), /What to do: .{5}/);
      assert.deepEqual(complaints, []);
      const noticed = [];
      while (noticed.length < 1 || (noticed.length < 3 && !noticed.some(({ all }) => all < GONE_MS))) {
        if (noticed.length > 0) {
          daemon = await service(scene, daemon.port);
          await until(page, () => document.body.dataset.link === "live");
        }
        noticed.push(await deathNotice(page, daemon));
      }
      const times = noticed.map(({ all, own }) => `${all} (${own.toFixed(0)} with a processor free)`).join(", ");
      context.diagnostic(`death noticed after ${times} ms`);
      assert.ok(noticed.some(({ all }) => all < GONE_MS) && noticed.every(({ own }) => own < GONE_MS), times);
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
