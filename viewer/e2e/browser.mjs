// A browser and something to look at: the mock, or the daemon named by HAPTICD_VIEWER_URL.
import { mkdir } from "node:fs/promises";
import { chromium } from "playwright-core";
import { serve } from "../mock.mjs";

const SHOTS = new URL("../shots/", import.meta.url).pathname;
const SOFTWARE_GL = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

/** The address of a daemon that runs already, if one is to be used. */
export const daemon = process.env.HAPTICD_VIEWER_URL;
/** How long a test waits before it gives up, ms. */
export const GIVE_UP = 30_000;

export async function browser({ webgl = true } = {}) {
  const args = ["--no-sandbox", "--disable-dev-shm-usage", ...(webgl ? SOFTWARE_GL : ["--disable-3d-apis"])];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args });
}

/** Where the page is, and how to end what serves it. */
export async function target(port = 0) {
  if (daemon !== undefined) {
    return { url: daemon, close: async () => {} };
  }
  const server = await serve(port);
  return { url: `http://127.0.0.1:${server.port}/`, ...server };
}

/** A page that shows live data; `complaints` collects what the browser finds wrong with it. */
export async function open(chromium, url, { width = 1400, height = 850, scheme = "light", query = "" } = {}) {
  const context = await chromium.newContext({ viewport: { width, height }, colorScheme: scheme });
  const page = await context.newPage();
  page.setDefaultTimeout(GIVE_UP);
  const complaints = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.goto(url + query);
  await until(page, () => document.body.dataset.link === "live");
  return { page, complaints };
}

export const until = (page, condition, argument) =>
  page.waitForFunction(condition, argument, { polling: 20, timeout: GIVE_UP });

export const state = (page) => page.textContent("#state-word");
export const reaches = (page, word) =>
  until(page, (wanted) => document.getElementById("state-word").textContent === wanted, word);

/** Brings the daemon to DISABLED without faults that wait, whatever an earlier test left behind. */
export async function calm(page) {
  await until(page, () => {
    const word = document.getElementById("state-word").textContent;
    if (word === "DISABLED") return true;
    document.querySelector('[id^="ack-"]')?.click();
    if (word === "ENABLED" || word === "PAUSED") document.getElementById("disable").click();
    return false;
  });
}

/** Brings the daemon to ENABLED. On a starved machine it may be in FAULT again at once; then it is asked again. */
export async function start(page) {
  for (let tries = 0; tries < 5; tries += 1) {
    await calm(page);
    await page.click("#start");
    await until(page, () => ["ENABLED", "FAULT"].includes(document.getElementById("state-word").textContent));
    if ((await state(page)) === "ENABLED") return;
  }
  throw new Error("it does not stay in ENABLED");
}

export async function shot(page, name, options = {}) {
  await mkdir(SHOTS, { recursive: true });
  await page.screenshot({ path: `${SHOTS}${name}.png`, ...options });
}
