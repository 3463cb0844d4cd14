// Makes the pictures of docs/soft-bodies.md: runs each scene in virtual time, plays the recording in a browser, and
// takes the scene at given moments. Equal seeds give equal runs, so that a picture changes only where scene, physics or
// page have changed.
//
// `npm run pictures [SCENE]` after `./build` and `cargo build --release`; HAPTICD names another program.
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { browser } from "./e2e/browser.mjs";
import { command } from "./e2e/daemon.mjs";

const program = process.env.HAPTICD ?? new URL("../target/release/hapticd", import.meta.url).pathname;
process.env.HAPTICD = program;
const PICTURES = new URL("../docs/pictures/", import.meta.url).pathname;
/** Size of the page and of the scene in it, in pixels: pictures stay below 150 kB. */
const [PAGE, CANVAS_HEIGHT] = [{ width: 1000, height: 900 }, 420];
/** Steps by which the camera comes nearer. */
const NEARER = { soft_cube: 1, soft_grip: 0, tissue_palpation: 3 };
/** Time for a moment to arrive and to be drawn, in software as well, ms. */
const SETTLE_MS = 3000;
/** Name, place in the recording, s, and where the scene is cut across y, in percent of its radius. */
const SHOTS = {
  soft_cube: [
    { name: "soft-cube-squeezed", at: 1.4 },
    { name: "soft-cube-tipped", at: 11.4 },
  ],
  soft_grip: [{ name: "soft-grip-held", at: 5 }],
  tissue_palpation: [
    { name: "tissue-palpated", at: 8.7 },
    { name: "tissue-lump-cut", at: 47.5, cut: -22 },
  ],
};

const set = (page, id, value) =>
  page.evaluate(
    ([id, value]) => {
      const input = document.getElementById(id);
      input.value = value;
      for (const kind of ["input", "change"]) input.dispatchEvent(new Event(kind, { bubbles: true }));
    },
    [id, value],
  );

async function take(page, { name, at, cut }) {
  await set(page, "replay-place", at);
  await set(page, "cut-axis", cut === undefined ? "" : "y");
  await set(page, "cut-place", cut ?? 0);
  await page.waitForTimeout(SETTLE_MS);
  await page.locator(".canvas canvas").screenshot({ path: `${PICTURES}${name}.png` });
  console.log(`docs/pictures/${name}.png`);
}

async function photograph(chromium, scene, shots) {
  const folder = await mkdtemp(join(tmpdir(), "hapticd-pictures-"));
  const film = join(folder, "film.mcap");
  const args = ["demo", scene, "--lockstep", "--headless", "--seed", "1", "--record", film];
  execFileSync(program, args, { stdio: "ignore" });
  const daemon = await command("replay", film, "--viewer");
  const context = await chromium.newContext({ viewport: PAGE });
  const page = await context.newPage();
  await page.goto(daemon.url);
  await page.waitForFunction(() => !document.getElementById("replay").hidden, undefined, { timeout: 120_000 });
  const enlarge = (height) => (document.getElementById("canvas-place").style.height = `${height}px`);
  await page.evaluate(enlarge, CANVAS_HEIGHT);
  await page.waitForTimeout(SETTLE_MS);
  if ((await page.textContent("#replay-play")) === "Pause") await page.click("#replay-play");
  await page.focus(".canvas canvas");
  for (let k = 0; k < NEARER[scene]; k += 1) await page.keyboard.press("+");
  for (const shot of shots) await take(page, shot);
  await context.close();
  await daemon.end("SIGTERM");
  await rm(folder, { recursive: true, force: true });
}

await mkdir(PICTURES, { recursive: true });
const chromium = await browser();
for (const [scene, shots] of Object.entries(SHOTS)) {
  if ((process.argv[2] ?? scene) === scene) await photograph(chromium, scene, shots);
}
await chromium.close();
