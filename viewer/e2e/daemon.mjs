// The real daemon for tests in the browser: starts and kills it, and hears what it says on its own clock.
import { spawn, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import WebSocket from "ws";
import { packet, parse } from "../mock.mjs";

/** The program that `cargo test` builds, or the one named. */
export const program = process.env.HAPTICD ?? new URL("../../target/debug/hapticd", import.meta.url).pathname;
export const isBuilt = existsSync(program);

/** Names of all shipped scenes, as the program lists them. */
export const scenes = () =>
  [...execFileSync(program, ["demo"], { encoding: "utf8" }).matchAll(/^ {2}(\w+) {2,}\S/gm)].map((line) => line[1]);

/** Seconds on the clock that the daemon uses as well. */
export const clock = () => Number(process.hrtime.bigint()) * 1e-9;

/** Time for which somebody on this machine waited for a processor, ms since its start; zero where nobody counts. */
export function crowdedMs() {
  try {
    return Number(/total=(\d+)/.exec(readFileSync("/proc/pressure/cpu", "utf8"))[1]) * 1e-3;
  } catch {
    return 0;
  }
}

/** Runs the program with arguments until it has said where its viewer is. */
async function begin(args) {
  const state = mkdtempSync(join(tmpdir(), "hapticd-e2e-"));
  const child = spawn(program, args, { env: { ...process.env, HOME: state, NO_COLOR: "1", STATE_DIRECTORY: state } });
  let said = "";
  const url = await new Promise((resolve, reject) => {
    const hear = (text) => {
      said += text;
      const found = /viewer +(http:\/\/[\d.:]+\/)/.exec(said);
      if (found !== null) resolve(found[1]);
    };
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.on("exit", (code) => {
      rmSync(state, { recursive: true, force: true });
      reject(new Error(`the daemon ended with ${code}:\n${said}`));
    });
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const end = async (signal) => {
    child.kill(signal);
    await ended;
    rmSync(state, { recursive: true, force: true });
  };
  return { url, port: Number(new URL(url).port), ended, end };
}

/** A service with that scene; `port` is where its page is, any when zero. */
export const service = (scene, port = 0) =>
  begin(["run", "--allow-no-rt", "--scene", scene, "--port", "0", "--query-port", "0", "--viewer-port", String(port)]);

/** Anything else of the program that has a page. */
export const command = (...args) => begin(args);

/** Listens beside the page; `next(address, wanted)` waits for the next message there that is wanted. */
export async function listen(url) {
  const socket = new WebSocket(`${url.replace("http", "ws")}ws`);
  await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
  const waiting = [];
  socket.on("message", (data) => {
    const message = parse(data);
    const fits = (one) => one.address === message.address && one.wanted(message.args);
    waiting.filter(fits).forEach((one) => one.resolve(message.args));
  });
  socket.send(packet("/hapticd/notify", "i", 1));
  const next = (address, wanted = () => true) => new Promise((resolve) => waiting.push({ address, wanted, resolve }));
  return { next, close: () => socket.terminate() };
}
