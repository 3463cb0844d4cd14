// Makes dist/ from src/: one script, one style sheet, the page. Nothing is fetched at run time.
import { build } from "esbuild";
import { copyFile, mkdir, rm } from "node:fs/promises";

await rm("dist", { recursive: true, force: true });
await mkdir("dist/assets", { recursive: true });
await build({
  entryPoints: [
    { in: "src/main.ts", out: "viewer" },
    { in: "src/style.css", out: "viewer" },
  ],
  outdir: "dist/assets",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  legalComments: "eof",
  logLevel: "warning",
});
await copyFile("src/index.html", "dist/index.html");
