// Makes the pictures of docs/soft-bodies.md: runs a demo, waits for a phase of its operator, takes the scene as the browser shows it.
//
// `npm run pictures [SCENE]` after `./build` and `cargo build --release`; HAPTICD names another program.
// A phase is read from the page, so that the moment is the same on every machine to within a tenth of a second of the demo.
import { mkdir } from "node:fs/promises";
import { browser, open, until } from "./e2e/browser.mjs";
import { command } from "./e2e/daemon.mjs";

const PICTURES = new URL("../docs/pictures/", import.meta.url).pathname;
const SIZE = { width: 1180, height: 760 };
/** Scene, phase, seconds after its beginning, place of the cut or none, name of the picture. */
const SHOTS = [
  { scene: "soft_cube", phase: "squeeze", after: 1.2, name: "soft-cube-squeezed" },
  { scene: "soft_cube", phase: "let it fall back", after: 0, name: "soft-cube-tipped" },
  { scene: "soft_grip", phase: "hold", after: 1, name: "soft-grip-held" },
  { scene: "tissue_palpation", phase: "palpate", after: 2.6, name: "tissue-palpated" },
  { scene: "tissue_palpation", phase: "point at it", after: 1.2, cut: "tool", name: "tissue-lump-cut" },
];

/** Cuts across y where the tool is: the slider goes from -100 to 100 over the radius of the scene. */
async function cut(page) {
  await page.selectOption("#cut-axis", "y");
  await page.waitForTimeout(400);
}

async function take(page, { phase, after, cut: cuts, name }) {
  await page.waitForFunction((wanted) => document.getElementById("task-phase").textContent.includes(wanted), phase, {
    polling: 20,
    timeout: 300_000,
  });
  await page.waitForTimeout(1000 * after);
  if (cuts !== undefined) await cut(page);
  await page.locator(".canvas canvas").first().screenshot({ path: `${PICTURES}${name}.png` });
  console.log(`${name}.png`);
}

const wanted = process.argv[2];
const scenes = [...new Set(SHOTS.map(({ scene }) => scene))].filter((scene) => wanted === undefined || scene === wanted);
await mkdir(PICTURES, { recursive: true });
const chromium = await browser();
for (const scene of scenes) {
  const daemon = await command("demo", scene);
  const { page } = await open(chromium, daemon.url, SIZE);
  await until(page, () => document.querySelector(".canvas canvas") !== null);
  for (const shot of SHOTS.filter((one) => one.scene === scene)) await take(page, shot);
  await page.context().close();
  await daemon.end("SIGTERM");
}
await chromium.close();
