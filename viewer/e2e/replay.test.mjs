// A recording in the page: it plays, stands still, is sought in by bar and by keys, and nothing of it can be changed.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { browser, open, shot, until } from "./browser.mjs";
import { command, isBuilt, program } from "./daemon.mjs";

const seconds = (page) => page.textContent("#replay-time").then((text) => Number.parseFloat(text));

test("a recording plays, pauses and is sought in", { skip: !isBuilt }, async () => {
  const place = mkdtempSync(join(tmpdir(), "hapticd-replay-"));
  const path = join(place, "box.mcap");
  const made = spawnSync(program, ["demo", "box_on_table", "--lockstep", "--json", "--record", path]);
  assert.equal(made.status, 0, String(made.stderr));
  const player = await command("replay", path, "--viewer", "--viewer-port", "0");
  const chromium = await browser();
  try {
    const { page, complaints } = await open(chromium, player.url);
    await page.waitForSelector("#replay:not([hidden])");
    for (const id of ["#halt", "#start", "#panel", "#record-form", "#scene-form"]) {
      assert.equal(await page.isVisible(id), false, id);
    }
    // From the beginning and slowly: on a slow machine the film may be over before the page is there.
    await page.selectOption("#replay-speed", "0.1");
    await page.locator("#replay-place").fill("0");
    if ((await page.textContent("#replay-play")) === "Play") await page.click("#replay-play");
    await until(page, () => document.getElementById("replay-play").textContent === "Pause");
    await until(page, () => /^0\.[2-9]/.test(document.getElementById("replay-time").textContent));
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("Space");
    await until(page, () => document.getElementById("replay-play").textContent === "Play");
    assert.equal(await page.inputValue("#replay-speed"), "0.1", "the speed that is chosen stays chosen");
    const still = await seconds(page);
    await page.waitForTimeout(1200);
    assert.equal(await seconds(page), still, "it goes on while it stands still");
    assert.equal(await page.evaluate(() => document.body.dataset.link), "live", "a film that stands still is not old");
    // By the bar: to where the box is pushed, and on.
    await page.locator("#replay-place").fill("2");
    await until(page, () => /; [1-9]\d* contact/.test(document.getElementById("tool-place").textContent));
    await shot(page, "replay-contact");
    await page.locator("#replay-place").fill("4");
    await until(page, () => document.getElementById("replay-time").textContent.startsWith("4.0 of "));
    const before = await page.textContent("#tool-place");
    await page.waitForTimeout(500);
    await shot(page, "replay");
    // By keys: to the beginning, and a second on.
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("Home");
    await until(page, () => document.getElementById("replay-time").textContent.startsWith("0.0 of "));
    await page.keyboard.press("Shift+ArrowRight");
    await until(page, () => document.getElementById("replay-time").textContent.startsWith("1.0 of "));
    await until(page, (other) => document.getElementById("tool-place").textContent !== other, before);
    await page.selectOption("#replay-speed", "5");
    await page.click("#replay-play");
    await until(page, () => Number.parseFloat(document.getElementById("replay-time").textContent) > 3);
    assert.deepEqual(complaints, []);
  } finally {
    await chromium.close();
    await player.end("SIGTERM");
    rmSync(place, { recursive: true, force: true });
  }
});
